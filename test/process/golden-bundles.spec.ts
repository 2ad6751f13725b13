import { execFileSync } from 'node:child_process';
import { hash } from 'node:crypto';
import { cpSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { runOnNodes } from './cli/nodes.js';
import { runCli } from './cli/run-cli.js';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';

cleanUpAfterEach();

const golden = join(import.meta.dirname, 'golden');
const newest = join(import.meta.dirname, '..', '..', 'apps', 'cli', 'bundle', 'verify.mjs');
const versions = readdirSync(golden).filter((name) => name.endsWith('.tgz'));
const trust = ['--vkey', 'keys.txt', '--json'];
const since = ['--since', 'checkpoints.txt'];

interface Line {
  readonly ok?: boolean;
  readonly detail?: string;
  readonly summary?: { readonly exit: number; readonly unproven: readonly string[] };
}

/** What a verifier found, and what it lists as not proven. */
function judged({ code, out }: { readonly code: number | null; readonly out: string }) {
  const lines = out.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as Line]));
  const findings = lines.filter(({ ok }) => ok === false).map(({ detail }) => detail);
  return { code, findings, unproven: lines.at(-1)?.summary?.unproven.join('\n') };
}

test.each(versions)(
  'the bundle and the proof of %s are proven, by the newest verifiers and by its own',
  async (name) => {
    const folder = temporaryFolder();
    execFileSync('tar', ['-xzf', join(golden, name), '-C', folder]);
    const verify = async (source: string, ...more: readonly string[]) =>
      judged(await runCli({ folder, port: 1 }, ['audit', 'verify', source, ...trust, ...more]));
    const proven = { code: 0, findings: [] };
    const stamped = ['--tsa-ca', 'roots.pem', '--require-timestamp'];
    const whole = await verify('bundle', ...since, ...stamped);
    expect(whole).toMatchObject(proven);
    expect(whole.unproven).not.toMatch(/cannot be read|commitments/);
    expect(await verify('proof.json')).toMatchObject(proven);
    for (const program of [join('bundle', 'verify.mjs'), newest]) {
      for (const source of [['bundle', ...since], ['bundle/tiles'], ['proof.json']])
        for (const result of runOnNodes(folder, [program, ...source, ...trust]))
          expect(judged(result)).toMatchObject(proven);
    }
    // What the rules of its version excuse is no other decision of a person.
    cpSync(join(folder, 'bundle'), join(folder, 'forged'), { recursive: true });
    forge(join(folder, 'forged'));
    expect((await verify('forged', ...since)).code).toBe(1);
  },
);

/** Makes each denial in the tables an approval, and the manifest say so. */
function forge(bundle: string): void {
  const manifest = JSON.parse(readFileSync(join(bundle, 'manifest.json'), 'utf8')) as { readonly files: object };
  const paths = Object.keys(manifest.files).filter((path) => path.endsWith('.csv') && path.startsWith('views/'));
  const files = paths.map((path): [string, object] => {
    const text = readFileSync(join(bundle, path), 'utf8').replaceAll('deny', 'approve');
    writeFileSync(join(bundle, path), text);
    return [path, { bytes: Buffer.byteLength(text), sha256: hash('sha256', text, 'hex') }];
  });
  const changed = { ...manifest, files: { ...manifest.files, ...Object.fromEntries(files) } };
  writeFileSync(join(bundle, 'manifest.json'), JSON.stringify(changed));
}
