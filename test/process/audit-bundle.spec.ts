import { hash } from 'node:crypto';
import { copyFileSync, cpSync, readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, test } from '@jest/globals';
import { runOnNodes } from './cli/nodes.js';
import { runCli } from './cli/run-cli.js';
import { cleanUpAfterEach } from './harness/cleanup.js';
import { install } from './harness/standalone.js';
import type { Installation } from './harness/standalone.js';
import { respond } from './traffic/approval-scenes.js';
import { execute, requestOne } from './traffic/scene.js';

cleanUpAfterEach();

const secret = 'hunter2-in-an-argument';
const eventsPath = join('events', '000000000000.ndjson');
const linesOf = (bundle: string): readonly string[] =>
  readFileSync(join(bundle, eventsPath), 'utf8').trimEnd().split('\n');

/** Exports up to a new checkpoint, which the auditor keeps. */
async function exported(installed: Installation, name: string): Promise<string> {
  const { out } = await runCli(installed, ['audit', 'checkpoint', '--now']);
  writeFileSync(join(installed.folder, `${name}.txt`), out);
  expect(await runCli(installed, ['audit', 'export', '-o', name])).toMatchObject({ code: 0, err: '' });
  return join(installed.folder, name);
}

/** The text of all files in a bundle but its program and its compressed tables. */
function wholeText(bundle: string): string {
  return readdirSync(bundle, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile() && !/parquet|mjs/.test(entry.name))
    .map(({ parentPath, name }) => readFileSync(join(parentPath, name), 'utf8'))
    .join('');
}

/** The changes of a forger of the lines of events. */
const changes: readonly (readonly [what: string, change: (lines: readonly string[]) => readonly string[]])[] = [
  ['another content', (lines) => lines.with(4, (lines[4] ?? '').replace('"tenant":"default"', '"tenant":"other"'))],
  ['a dropped event', (lines) => lines.toSpliced(4, 1)],
  ['an event there twice', (lines) => lines.toSpliced(4, 0, lines[2] ?? '')],
  ['two events swapped', (lines) => lines.with(3, lines[5] ?? '').with(5, lines[3] ?? '')],
  ['an end that is cut off', (lines) => lines.slice(0, -1)],
];

/** Changes the events of a copy, and makes its manifest say so. */
function forged(bundle: string, change: (lines: readonly string[]) => readonly string[]): string {
  const copy = `${bundle}-forged`;
  cpSync(bundle, copy, { recursive: true });
  const text = `${change(linesOf(bundle)).join('\n')}\n`;
  writeFileSync(join(copy, eventsPath), text);
  const manifest = JSON.parse(readFileSync(join(copy, 'manifest.json'), 'utf8')) as { readonly files: object };
  const file = { bytes: Buffer.byteLength(text), sha256: hash('sha256', text, 'hex') };
  const files = { ...manifest.files, [eventsPath]: file };
  writeFileSync(join(copy, 'manifest.json'), JSON.stringify({ ...manifest, files }));
  return copy;
}

test('bundles of a running server are proven on every Node, also from before an erasure, and a forged one is not', async () => {
  const installed = await install();
  const { stage, folder } = installed;
  const call = await requestOne(stage, {
    ...{ needsApproval: true, arguments: { password: secret }, labels: { subject: 'customer-42' } },
  });
  await respond(stage, call, { type: 'approve' });
  await execute(stage, call.callId);
  writeFileSync(join(folder, 'keys.txt'), (await runCli(installed, ['audit', 'keys', '--all'])).out);

  const over = new AbortController();
  const traffic = (async () => {
    while (!over.signal.aborted) await requestOne(stage);
  })();
  const before = await exported(installed, 'before');
  over.abort();
  await traffic;
  expect((await runCli(installed, ['erase', 'customer-42', '--reason', 'asked', '--yes'])).code).toBe(0);
  const after = await exported(installed, 'after');

  const ofNone = await runCli(installed, ['audit', 'export', '-o', 'none', '--tenant', 'none']);
  expect(ofNone).toMatchObject({ code: 2, err: expect.stringContaining('no event of the tenant "none"') as unknown });
  expect(linesOf(after).slice(0, linesOf(before).length)).toEqual(linesOf(before));
  for (const bundle of [before, after]) expect(wholeText(bundle)).not.toContain(secret);
  const verified = (bundle: string) =>
    runOnNodes(folder, [join(after, 'verify.mjs'), bundle, '--vkey', 'keys.txt', '--since', 'before.txt', '--json']);
  for (const bundle of [before, after]) {
    expect(
      await runCli(installed, ['audit', 'verify', bundle, '--vkey', 'keys.txt', '--since', 'before.txt']),
    ).toMatchObject({
      code: 0,
      err: '',
    });
    for (const result of verified(bundle)) expect(result).toMatchObject({ code: 0, err: '' });
  }
  for (const [what, change] of changes) {
    for (const { code, out } of verified(forged(before, change))) {
      const indexes = [...out.matchAll(/"ok":false,"index":(\d+)/g)].map(([, index]) => Number(index));
      expect({ what, code, isNamed: Math.min(...indexes) <= 4 || what === 'an end that is cut off' }).toEqual({
        ...{ what, code: 1, isNamed: true },
      });
    }
  }
});

interface Attested {
  readonly attestation_list: readonly { readonly fingerprint: { readonly value: string } }[];
  readonly enrichments: readonly object[];
}

test('a server gives the bundle that its data folder gives, to an auditor alone', async () => {
  const installed = await install();
  const { stage, folder, tokens, port } = installed;
  // The default of a hidden value is recorded in clear: its event is a commitment.
  const toolSchema = {
    type: 'object',
    properties: { password: { type: 'string', writeOnly: true, default: 'hunter3' } },
  };
  const call = await requestOne(stage, { needsApproval: true, arguments: { password: secret }, toolSchema });
  await respond(stage, call, { type: 'deny' });
  for (let n = 0; n < 300; n += 1) await requestOne(stage);
  writeFileSync(join(folder, 'keys.txt'), (await runCli(installed, ['audit', 'keys', '--all'])).out);
  writeFileSync(join(folder, 'kept.txt'), (await runCli(installed, ['audit', 'checkpoint', '--now'])).out);

  const url = `http://127.0.0.1:${String(port)}`;
  const ask = (name: string, token: string, ...args: readonly string[]) =>
    runCli({ ...installed, env: { COUNTERSIGN_TOKEN: token } }, ['audit', 'export', url, '-o', name, ...args]);
  const outside = await ask('served', tokens.me, '--url', 'http://127.0.0.1:1');
  expect(outside).toMatchObject({ code: 0, err: '' });
  expect((await runCli(installed, ['audit', 'export', '-o', 'copied'])).code).toBe(0);
  const [served, copied] = [join(folder, 'served'), join(folder, 'copied')];
  const lines = linesOf(served);
  expect(lines.filter((line) => line.includes('"body":null'))).not.toEqual([]);
  expect(lines.length).toBeGreaterThan(600);
  expect(linesOf(copied).slice(0, lines.length)).toEqual(lines);
  expect(wholeText(served)).not.toMatch(/hunter[23]/);
  const verify = ['--vkey', 'keys.txt', '--since', 'kept.txt'];
  expect(await runCli(installed, ['audit', 'verify', 'served', ...verify])).toMatchObject({ code: 0 });
  copyFileSync(join(served, 'verify.mjs'), join(folder, 'verify.mjs'));
  for (const result of runOnNodes(folder, ['verify.mjs', 'served', ...verify]))
    expect(result).toMatchObject({ code: 0 });
  const month = readdirSync(join(served, 'views')).find((name) => name.endsWith('.ndjson')) ?? '';
  // The view of a commitment is the one of the server.
  const viewsOf = (bundle: string) =>
    readFileSync(join(bundle, 'views', month), 'utf8')
      .split('\n')
      .slice(0, lines.length)
      .filter((_, index) => !lines[index]?.includes('"body":null'));
  expect(viewsOf(copied)).toEqual(viewsOf(served));

  // The leaves of an export for a SIEM are those of the tree, also of an event with sealed values.
  const siem = await fetch(`${url}/v1/audit/events?format=ocsf&ocsf=1.9&limit=500&types=ToolCallRequested`, {
    headers: { authorization: `Bearer ${tokens.me}` },
  });
  const leaves = new Set(
    lines.map((line) => hash('sha256', `\0${/"entry":(\{[^}]*\})/.exec(line)?.[1] ?? ''}`, 'hex')),
  );
  const attested = (await siem.text())
    .trimEnd()
    .split('\n')
    .map((line) => JSON.parse(line) as Attested);
  expect(attested).toHaveLength(301);
  for (const { attestation_list: list } of attested) expect(leaves).toContain(list[0]?.fingerprint.value);
  expect(attested[0]?.enrichments).toMatchObject([
    { type: 'checkpoint', data: { size: expect.any(Number) as unknown } },
  ]);

  expect((await ask('agents', tokens.agent)).code).toBe(4);
  expect((await ask('others', tokens.me, '--tenant', 'others')).code).toBe(2);
  expect((await ask('clear', tokens.me, '--values', 'clear')).code).toBe(2);
});
