import { hash } from 'node:crypto';
import { cpSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { timestampQuery } from '@countersign/timestamps';
import { makeAuthority, serveAuthority } from '@countersign/timestamps/testing';
import { expect, test } from '@jest/globals';
import { runOnNodes } from './cli/nodes.js';
import { runCli } from './cli/run-cli.js';
import { cleanUpAfterEach, onCleanup } from './harness/cleanup.js';
import { install } from './harness/standalone.js';
import { eventually } from './harness/wait.js';
import { requestOne } from './traffic/scene.js';

cleanUpAfterEach();

/** Changes a file of a copy of a bundle, and its manifest with it; undefined takes the file away. */
function forged(bundle: string, change: (path: string, bytes: Buffer) => Uint8Array | undefined): string {
  const copy = `${bundle}-forged`;
  rmSync(copy, { recursive: true, force: true });
  cpSync(bundle, copy, { recursive: true });
  const manifest = JSON.parse(readFileSync(join(copy, 'manifest.json'), 'utf8')) as { files: Record<string, unknown> };
  for (const path of Object.keys(manifest.files).filter((one) => one.startsWith('timestamps/'))) {
    const bytes = change(path, readFileSync(join(copy, path)));
    if (bytes === undefined) {
      rmSync(join(copy, path));
      manifest.files = Object.fromEntries(Object.entries(manifest.files).filter(([one]) => one !== path));
    } else {
      writeFileSync(join(copy, path), bytes);
      manifest.files[path] = { bytes: bytes.length, sha256: hash('sha256', bytes, 'hex') };
    }
  }
  writeFileSync(join(copy, 'manifest.json'), JSON.stringify(manifest));
  return copy;
}

test('a checkpoint whose time stamp was lost by a kill gets another one, which an auditor verifies anywhere', async () => {
  const authority = makeAuthority();
  onCleanup(authority.remove);
  const served = await serveAuthority(authority);
  onCleanup(served.close);
  const installed = await install();
  const { folder, stage, restart, startAnyhow, server, http, tokens } = installed;
  await requestOne(stage, { needsApproval: true });
  for (const [file, args] of [
    ['keys.txt', ['keys', '--all']],
    ['kept.txt', ['checkpoint', '--now']],
  ] as const) {
    writeFileSync(join(folder, file), (await runCli(installed, ['audit', ...args])).out);
  }
  await server().stop();
  const env = {
    COUNTERSIGN_TSA_URL: served.url,
    COUNTERSIGN_TSA_CA: authority.rootFile,
    COUNTERSIGN_TSA_PRIVATE: 'true',
  };
  const crashing = startAnyhow({ ...env, COUNTERSIGN_CRASH_AT: 'notary.stamped' });
  expect(await crashing.exited).toEqual({ code: null, signal: 'SIGKILL' });
  await restart(env);
  const asAuditor = { ...installed, env: { COUNTERSIGN_TOKEN: tokens.me } };
  await eventually(
    'a time stamp',
    async () => {
      const { code } = await runCli(asAuditor, ['audit', 'timestamp', '-o', 'stamp']);
      return code === 0 ? true : undefined;
    },
    1_000,
  );
  expect(served.queries.length).toBe(2);
  const [reply, text] = [readFileSync(join(folder, 'stamp.tsr')), readFileSync(join(folder, 'stamp.txt'), 'utf8')];
  expect(() => authority.verify(reply, text)).not.toThrow();
  const ready = await http.send({ method: 'GET', path: '/readyz', token: tokens.me });
  expect(ready).toMatchObject({ status: 200 });

  const trust = ['--vkey', 'keys.txt', '--since', 'kept.txt', '--tsa-ca', authority.rootFile, '--require-timestamp'];
  await runCli(asAuditor, ['audit', 'checkpoint', '--now']);
  for (const args of [
    ['export', '-o', 'copied'],
    ['export', `http://127.0.0.1:${String(installed.port)}`, '-o', 'served'],
  ])
    expect(await runCli(asAuditor, ['audit', ...args])).toMatchObject({ code: 0, err: '' });
  for (const source of ['data', 'copied', 'served']) {
    const { code, out } = await runCli(asAuditor, ['audit', 'verify', source, ...trust]);
    expect([code, out]).toEqual([
      0,
      expect.stringMatching(/the first \d+ events existed before 2.*Z, says CN=Test stamps/),
    ]);
  }
  const byFile = (source: string) => runOnNodes(folder, ['served/verify.mjs', source, '--vkey', 'keys.txt']);
  for (const result of byFile('copied')) {
    expect(result).toMatchObject({ code: 0, out: expect.stringContaining('openssl ts -verify') });
  }
  expect(readdirSync(join(folder, 'copied', 'timestamps', '1'))).toHaveLength(2);

  const nothing = forged(join(folder, 'copied'), () => undefined);
  const withoutDemand = trust.filter((word) => word !== '--require-timestamp');
  expect(await runCli(asAuditor, ['audit', 'verify', nothing, ...withoutDemand])).toMatchObject({ code: 0 });
  expect(await runCli(asAuditor, ['audit', 'verify', nothing, ...trust])).toMatchObject({ code: 1 });
  const another = authority.answer(timestampQuery(`${text}x`, Buffer.alloc(8, 1)));
  const lying = forged(join(folder, 'copied'), (path, bytes) => (path.endsWith('.tsr') ? another : bytes));
  expect(await runCli(asAuditor, ['audit', 'verify', lying, ...trust])).toMatchObject({
    ...{ code: 1, out: expect.stringContaining('time: index') },
  });
  for (const result of byFile(lying)) expect(result).toMatchObject({ code: 1 });
}, 240_000);
