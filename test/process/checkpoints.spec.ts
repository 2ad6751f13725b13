import { hash } from 'node:crypto';
import { copyFileSync, readdirSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { DatabaseSync } from 'node:sqlite';
import { keyTypes, parseCheckpoint, parseNote, parseVkey, verifyNote } from '@countersign/audit';
import { canonicalJson } from '@countersign/contracts';
import type { JsonValue } from '@countersign/contracts';
import { expect, test } from '@jest/globals';
import { runCli } from './cli/run-cli.js';
import { cleanUpAfterEach } from './harness/cleanup.js';
import { install } from './harness/standalone.js';
import type { Installation } from './harness/standalone.js';
import { eventually } from './harness/wait.js';
import { requestOne } from './traffic/scene.js';

cleanUpAfterEach();

/** The leaves of the stored log, by SQLite and the formats alone. */
function leavesOf(file: string): readonly Buffer[] {
  const database = new DatabaseSync(file, { readOnly: true });
  const rows = database
    .prepare(
      'SELECT e.event_id AS eventId, s.name AS stream, e.revision, e.type, e.recorded_at AS recordedAt, ' +
        `json_object('data', json(e.data), 'metadata', json(e.metadata)) AS body ` +
        'FROM events e JOIN streams s ON s.id = e.stream ORDER BY e.position',
    )
    .all();
  database.close();
  return rows.map(({ body, ...row }) => {
    const digest = `sha256:${hash('sha256', canonicalJson(JSON.parse(String(body)) as JsonValue), 'hex')}`;
    return sha256(0, Buffer.from(canonicalJson({ v: 1, ...row, body: digest })));
  });
}

function sha256(prefix: number, ...parts: readonly Buffer[]): Buffer {
  return hash('sha256', Buffer.concat([Buffer.of(prefix), ...parts]), 'buffer');
}

function rootOf(leaves: readonly Buffer[]): Buffer {
  const [only] = leaves;
  if (only === undefined) throw new Error('the log is empty');
  if (leaves.length === 1) return only;
  let split = 1;
  while (split * 2 < leaves.length) split *= 2;
  return sha256(1, rootOf(leaves.slice(0, split)), rootOf(leaves.slice(split)));
}

/** What an auditor keeps: a checkpoint of now, verified by a key that was kept before. */
async function keep(installed: Installation, vkey: string) {
  const { code, out, err } = await runCli(installed, ['audit', 'checkpoint', '--now']);
  expect({ code, err }).toEqual({ code: 0, err: '' });
  const note = parseNote(out)!;
  expect(verifyNote(note, [parseVkey(vkey)!]).verified).toHaveLength(1);
  return parseCheckpoint(note.text)!;
}

/** The Ed25519 keys. Each has an ML-DSA-44 key after it. */
async function vkeysOf(installed: Installation): Promise<readonly string[]> {
  const vkeys = (await runCli(installed, ['audit', 'keys', '--all'])).out.trimEnd().split('\n');
  const types = vkeys.map((vkey) => parseVkey(vkey)?.type);
  expect(types).toEqual(types.map((_type, at) => (at % 2 === 0 ? keyTypes.ed25519 : keyTypes.mlDsaCosignature)));
  return vkeys.filter((_vkey, at) => at % 2 === 0);
}

test('a checkpoint that an auditor keeps proves the log before it, and a log that was put back is named', async () => {
  const installed = await install();
  const { stage, server, restart, startAnyhow, dataFolder, http, tokens } = installed;
  const remove = (isGone: (name: string) => boolean): void => {
    for (const name of readdirSync(dataFolder).filter(isGone)) rmSync(join(dataFolder, name));
  };
  await requestOne(stage, { needsApproval: true });
  const [vkey = ''] = await vkeysOf(installed);
  const first = await keep(installed, vkey);
  await server().stop('SIGKILL');
  remove((name) => name.startsWith('log-tree.db'));
  await restart();
  await requestOne(stage, { needsApproval: true });
  const second = await keep(installed, vkey);
  await server().stop();

  const leaves = leavesOf(join(dataFolder, 'events.db'));
  expect(second.size).toBe(leaves.length);
  expect(first.size).toBeLessThan(second.size);
  for (const { size, root } of [first, second]) expect(rootOf(leaves.slice(0, size)).equals(root)).toBe(true);

  copyFileSync(join(dataFolder, 'events.db'), join(dataFolder, 'older'));
  await restart();
  await requestOne(stage, { needsApproval: true });
  await keep(installed, vkey);
  await server().stop();
  const putBack = async (): Promise<string> => {
    const kept = ['older', 'tokens.json', 'keys.db', 'root.key', 'log.key', 'checkpoints.db'];
    remove((name) => !kept.includes(name));
    copyFileSync(join(dataFolder, 'older'), join(dataFolder, 'events.db'));
    startAnyhow();
    await eventually('log-rewound in /readyz', async () => {
      const answer = await http.send({ method: 'GET', path: '/readyz' }).catch(() => undefined);
      return answer?.status === 503 && answer.text.includes('log-rewound') ? answer.text : undefined;
    });
    const refused = { method: 'POST', path: '/v1/log/checkpoint', token: tokens.me } as const;
    const { status, text } = await http.send(refused);
    expect([status, text]).toEqual([503, expect.stringContaining('log-rewound')]);
    const command = await http.send({
      ...{ method: 'POST', path: '/v1/tool-calls', token: tokens.agent },
      body: { runId: 'late', calls: [{ toolCallId: 'late-1', toolName: 'send_mail', arguments: {} }] },
    });
    expect([command.status, JSON.parse(command.text)]).toMatchObject([503, { code: 'unavailable' }]);
    expect((await http.send({ method: 'GET', path: '/v1/tool-calls', token: tokens.me })).status).toBe(200);
    return text;
  };
  await putBack();
  const goOn = {
    method: 'POST',
    path: '/v1/log/continue',
    token: tokens.me,
    body: { reason: 'from the backup' },
  } as const;
  const wentOn = await http.send(goOn);
  expect([wentOn.status, wentOn.text.split('\n')[0]]).toEqual([200, first.origin.replace(/1$/, '2')]);
  await requestOne(stage, { needsApproval: true });
  const recorded = await http.send({
    method: 'GET',
    path: '/v1/audit/events?types=LogRestored&values=masked',
    token: tokens.me,
  });
  expect(JSON.parse(recorded.text)).toMatchObject({
    actor: { kind: 'person', id: 'me' },
    data: { reason: 'from the backup', checkpoint: expect.stringContaining(first.origin), why: expect.any(String) },
  });
  await server().stop();
  await restart();
  const [keyOfSecond = '', ...keysBefore] = await vkeysOf(installed);
  expect([keyOfSecond.split('+')[0], keysBefore]).toEqual([first.origin.replace(/1$/, '2'), [vkey]]);
  await server().stop();

  const named = await putBack();
  await server().stop();
  await restart({ COUNTERSIGN_ACCEPT_LOG_END: /COUNTERSIGN_ACCEPT_LOG_END=(\d+)/.exec(named)?.[1] ?? '' });
  const [next = '', ...others] = await vkeysOf(installed);
  expect([next.split('+')[0], others]).toEqual([first.origin.replace(/1$/, '3'), [keyOfSecond, vkey]]);
  expect((await keep(installed, next)).size).toBeGreaterThanOrEqual(second.size);
});

test('the last checkpoint covers the reads that the stop itself records', async () => {
  const { http, tokens, dataFolder, server } = await install();
  const read = () => http.send({ method: 'GET', path: '/v1/audit/events', token: tokens.me });
  await read();
  await read();
  await server().stop();
  const rowOf = (file: string, query: string) => {
    const database = new DatabaseSync(join(dataFolder, file), { readOnly: true });
    const row = database.prepare(query).get();
    database.close();
    return row;
  };
  const last = rowOf(
    'events.db',
    'SELECT type, (SELECT count(*) FROM events) AS size FROM events ORDER BY position DESC',
  );
  expect(last?.['type']).toBe('AuditRead');
  const kept = rowOf('checkpoints.db', `SELECT note FROM checkpoints WHERE tenant = 'default' ORDER BY epoch DESC`);
  expect(String(kept?.['note']).split('\n')[1]).toBe(String(last?.['size']));
});
