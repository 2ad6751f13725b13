import { generateKeyPairSync } from 'node:crypto';
import { copyFileSync, cpSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { parseNote, parseVkey, verifyNote } from '@countersign/audit';
import { expect, test } from '@jest/globals';
import { runOnNodes } from './cli/nodes.js';
import { runCli } from './cli/run-cli.js';
import { cleanUpAfterEach } from './harness/cleanup.js';
import { install } from './harness/standalone.js';
import type { Installation } from './harness/standalone.js';
import { eventually } from './harness/wait.js';
import { respond } from './traffic/approval-scenes.js';
import { execute, requestOne } from './traffic/scene.js';

cleanUpAfterEach();

/** The sources that an auditor who has the old key alone verifies, each written after the rotation. */
async function sourcesOf(installed: Installation, callId: string): Promise<readonly string[]> {
  const { port, tokens } = installed;
  const url = `http://127.0.0.1:${String(port)}`;
  const asAuditor = { ...installed, env: { COUNTERSIGN_TOKEN: tokens.me } };
  for (const args of [
    ['export', '-o', 'copied'],
    ['export', url, '-o', 'served'],
    ['prove', callId, '-o', 'proof.json'],
  ]) {
    expect(await runCli(asAuditor, ['audit', ...args])).toMatchObject({ code: 0, err: '' });
  }
  return [
    'data',
    'copied',
    'served',
    join('served', 'tiles'),
    'proof.json',
    join('sink', 'default', '1'),
    `${url}/v1/log`,
  ];
}

test('a rotation of the log key that is killed at each of its steps is proven to an auditor who has the old key', async () => {
  const installed = await install();
  const { folder, dataFolder, stage, http, tokens, restart, startAnyhow, server } = installed;
  const call = await requestOne(stage, { needsApproval: true });
  const { callId } = call;
  await respond(stage, call, { type: 'approve' });
  await execute(stage, callId);
  const before = await runCli(installed, ['audit', 'keys', '--all']);
  writeFileSync(join(folder, 'keys.txt'), before.out);
  writeFileSync(join(folder, 'kept.txt'), (await runCli(installed, ['audit', 'checkpoint', '--now'])).out);
  await server().stop();

  copyFileSync(join(dataFolder, 'log.key'), join(folder, 'old.pem'));
  const pem = generateKeyPairSync('ed25519').privateKey.export({ type: 'pkcs8', format: 'pem' });
  writeFileSync(join(folder, 'new.pem'), pem, { mode: 0o600 });
  const current = { COUNTERSIGN_LOG_KEY_FILE: 'new.pem', COUNTERSIGN_LOG_SINKS: `[{ folder: ${folder}/sink }]` };
  const rotating = { ...current, COUNTERSIGN_LOG_KEY_PREVIOUS: 'old.pem' };
  for (const point of ['recorded', 'signed', 'kept']) {
    const crashing = startAnyhow({ ...rotating, COUNTERSIGN_CRASH_AT: `notary.key-${point}` });
    expect(await crashing.exited).toEqual({ code: null, signal: 'SIGKILL' });
  }
  await restart(rotating);
  const keySet = await http.send({ method: 'GET', path: '/.well-known/jwks.json', token: tokens.me });
  expect((JSON.parse(keySet.text) as { readonly keys: readonly unknown[] }).keys).toHaveLength(2);
  await server().stop();
  await restart(current);

  const { out: note } = await runCli(installed, ['audit', 'checkpoint', '--now']);
  const after = await runCli(installed, ['audit', 'keys', '--all']);
  const [next = '', nextSecond = '', ...older] = after.out.trimEnd().split('\n');
  expect(older).toEqual(before.out.trimEnd().split('\n'));
  const keysOfNote = [next, nextSecond, ...older].map((vkey) => parseVkey(vkey)!);
  expect(verifyNote(parseNote(note)!, keysOfNote).verified).toEqual(keysOfNote.slice(0, 2));
  const events = await http.send({
    ...{ method: 'GET', path: '/v1/audit/events?types=LogKeyChanged', token: tokens.me },
  });
  expect(
    events.text
      .trimEnd()
      .split('\n')
      .map((line) => JSON.parse(line) as unknown),
  ).toMatchObject([{ type: 'LogKeyChanged', actor: { kind: 'operator' }, data: { before: older[0], after: next } }]);

  const sources = await sourcesOf(installed, callId);
  const vkey = ['--vkey', 'keys.txt'];
  const verify = [...vkey, '--since', 'kept.txt'];
  // A proof of one call shows nothing about a checkpoint of another size.
  const trustFor = (source: string): readonly string[] => (source === 'proof.json' ? vkey : verify);
  const asAuditor = { ...installed, env: { COUNTERSIGN_TOKEN: tokens.me } };
  for (const source of sources) {
    const { code, err, out } = await runCli(asAuditor, ['audit', 'verify', source, ...trustFor(source)]);
    expect({ source, code, err, out: code === 0 ? '' : out }).toEqual({ source, code: 0, err: '', out: '' });
  }
  await server().stop();
  copyFileSync(join(folder, 'copied', 'verify.mjs'), join(folder, 'verify.mjs'));
  for (const source of ['copied', 'served', join('served', 'tiles'), 'proof.json']) {
    for (const { code, out } of runOnNodes(folder, ['verify.mjs', source, ...trustFor(source)]))
      expect({ source, code, out: code === 0 ? '' : out }).toEqual({ source, code: 0, out: '' });
  }
  // Without the note that both keys signed, the event alone makes nobody trust the new key.
  cpSync(dataFolder, join(folder, 'without'), { recursive: true });
  const checkpoints = new DatabaseSync(join(folder, 'without', 'checkpoints.db'));
  checkpoints.exec('DELETE FROM key_changes');
  checkpoints.close();
  expect((await runCli(installed, ['audit', 'verify', 'without', ...verify])).code).toBe(1);
  // The old key signs nothing any more.
  startAnyhow({ COUNTERSIGN_LOG_KEY_FILE: 'old.pem' });
  await eventually('the old key to be refused', async () => {
    const path = '/v1/log/checkpoint';
    const answer = await http.send({ method: 'POST', path, token: tokens.me }).catch(() => undefined);
    return answer?.status === 503 && answer.text.includes('log-key-changed') ? true : undefined;
  });
});
