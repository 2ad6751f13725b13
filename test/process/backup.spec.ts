import { createHash } from 'node:crypto';
import { DatabaseSync } from 'node:sqlite';
import { chmodSync, cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { expect, test } from '@jest/globals';
import { readLogFile } from './audit/log.js';
import { runCli, startCli } from './cli/run-cli.js';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import { install } from './harness/standalone.js';
import { folderComplaints } from './harness/verified-folder.js';
import type { Installation } from './harness/standalone.js';
import { accepted, claim, pendingIdOf, requestOne } from './traffic/scene.js';
import type { Stage } from './traffic/scene.js';

cleanUpAfterEach();

/** Approved by a person, and not claimed. */
async function approved(stage: Stage): Promise<string> {
  const asked = await requestOne(stage, { needsApproval: true });
  const reply = await stage.ledger.respond(pendingIdOf(asked), { decision: { type: 'approve' } });
  accepted(stage, 'approve', reply);
  return asked.callId;
}

async function cli(place: Installation, ...args: readonly string[]) {
  const { code, out, err } = await runCli(place, [...args, '--json']);
  if (code !== 0) throw new Error(`${args.join(' ')} ended with ${String(code)}: ${err}`);
  return JSON.parse(out) as { readonly backup: string; readonly position: number; readonly copied: number };
}

const stateOf = async ({ http, tokens }: Installation, callId: string): Promise<unknown> => {
  const { body } = await http.send({ method: 'GET', path: `/v1/tool-calls/${callId}`, token: tokens.me });
  return (body as { readonly state?: unknown }).state;
};

/** Requests calls until it is stopped. Resolves to the ids of those that were acknowledged. */
function keepWriting(stage: Stage): () => Promise<readonly string[]> {
  const acknowledged: string[] = [];
  const over = new AbortController();
  const writing = (async () => {
    while (!over.signal.aborted) acknowledged.push((await requestOne(stage)).callId);
  })();
  return async () => {
    over.abort();
    await writing;
    return acknowledged;
  };
}

test('a backup while the server writes: killed in the middle, incremental, restored, and nothing approved before runs again', async () => {
  const installed = await install();
  const { stage, server, dataFolder, folder, startAnyhow } = installed;
  const [backups, keys] = [join(folder, 'backups'), join(folder, 'keys')];
  const [approvedId, claimedId] = [await approved(stage), await approved(stage)];
  await claim(stage, claimedId, 60_000);
  const { callId: pendingId } = await requestOne(stage, { needsApproval: true });
  const stopWriting = keepWriting(stage);

  const killed = startCli(installed, ['backup', dataFolder, '-o', backups]);
  while (!existsSync(backups) || readdirSync(backups).length === 0) await sleep(1);
  killed.kill('SIGKILL');
  await killed.ended;
  expect(readdirSync(backups).filter((name) => !name.endsWith('.part'))).toEqual([]);

  const first = await cli(installed, 'backup', dataFolder, '-o', backups, '--keys', keys);
  const second = await cli(installed, 'backup', dataFolder, '-o', backups, '--keys', keys);
  expect(readdirSync(backups).filter((name) => name.endsWith('.part'))).toEqual([]);
  expect([first.copied, second.copied]).toEqual([first.position, second.position - first.position]);
  expect(readdirSync(second.backup).toSorted()).toEqual(['checkpoints.db', 'events.db', 'manifest.json']);
  expect(readdirSync(keys)).toEqual(expect.arrayContaining(['keys.db', 'log.key', 'root.key', 'tokens.json']));

  // After the backup both run to their end, and are acknowledged.
  expect((await claimReply(installed, approvedId)).status).toBe(200);
  const acknowledged = await stopWriting();
  await server().stop('SIGKILL');
  const lost = readLogFile(join(dataFolder, 'events.db')).length - second.position;
  expect(lost).toBeGreaterThan(0);

  // The disk keeps nothing but what a checkpoint and the noted position say.
  const drill = await cli(installed, 'restore', backups, '--drill', '--lost', dataFolder);
  expect(drill).toMatchObject({ end: second.position, known: second.position + lost, restored: null });
  expect(drill).toMatchObject({ stops: [], open: { claimed: [claimedId], pending: [pendingId] } });
  const restored = join(folder, 'restored');
  const to = ['--to', restored, '--keys', keys, '--lost', dataFolder, '--reason', 'the disk was lost'];
  await cli(installed, 'restore', backups, ...to);
  // A start that dies on the way is repeated by the next one.
  const crashing = startAnyhow({ COUNTERSIGN_DATA: restored, COUNTERSIGN_CRASH_AT: 'restored.settled' });
  expect(await crashing.exited).toEqual({ code: null, signal: 'SIGKILL' });
  await startAnyhow({ COUNTERSIGN_DATA: restored }).ready();

  expect(await stateOf(installed, approvedId)).toBe('awaiting_approval');
  expect(await stateOf(installed, claimedId)).toBe('unknown');
  expect(await stateOf(installed, pendingId)).toBe('awaiting_approval');
  for (const callId of [approvedId, claimedId, pendingId])
    expect((await claimReply(installed, callId)).status).toBe(409);
  // What was acknowledged before the backup ended is there.
  const after = readLogFile(join(restored, 'events.db'));
  expect(after[second.position]).toMatchObject({ type: 'LogRestored', position: second.position + 1 });
  const kept = new Set(after.map(({ callId }) => callId));
  const missing = acknowledged.filter((callId) => !kept.has(callId));
  expect(missing.length * 2).toBeLessThanOrEqual(lost);
  // What comes again may have run: people are asked, until an admin knows.
  expect((await requestOne(stage, { needsApproval: false })).state).toBe('awaiting_approval');
  expect((await runCli(installed, ['status'])).out).toContain('the log was restored from a backup');
  expect((await runCli(installed, ['audit', 'continue', '--reason', 'compared'])).code).toBe(0);
  expect((await requestOne(stage, { needsApproval: false })).state).toBe('allowed');
  await server().stop();
  expect(await folderComplaints(restored)).toEqual([]);
}, 240_000);

async function claimReply({ http, tokens }: Installation, callId: string) {
  const path = `/v1/tool-calls/${callId}/claim`;
  return http.send({ method: 'POST', path, token: tokens.worker, body: { resolverId: 'w' } });
}

test('a backup that is no longer what was written is no base, and neither keys beside the log nor a restore over a folder are accepted', async () => {
  const installed = await install();
  const { stage, server, dataFolder, folder } = installed;
  await requestOne(stage);
  await server().stop();
  const backups = join(folder, 'backups');
  const first = await cli(installed, 'backup', dataFolder, '-o', backups);
  const file = join(first.backup, 'events.db');
  const bytes = readFileSync(file);
  bytes.write('toolCallRequested', bytes.lastIndexOf('ToolCallRequested'));
  writeFileSync(file, bytes);
  const damaged = await runCli(installed, ['restore', first.backup, '--drill']);
  expect(damaged).toMatchObject({
    code: 1,
    err: expect.stringContaining('events.db is not what was backed up') as unknown,
  });
  const second = await cli(installed, 'backup', dataFolder, '-o', backups);
  expect(second).toMatchObject({ position: first.position, copied: first.position });
  const refusals = [
    ['backup', dataFolder, '-o', backups, '--keys', join(backups, 'keys')],
    ['restore', backups, '--to', dataFolder, '--reason', 'r'],
    ['restore', backups, '--to', join(folder, 'new')],
    ['restore', folder, '--drill'],
  ];
  for (const args of refusals) expect([args, (await runCli(installed, args)).code]).toEqual([args, 2]);
}, 240_000);

test('a copy by `sqlite3 .backup` is accepted, a damaged backup is not, and nothing in it is changed', async () => {
  const installed = await install();
  const { stage, server, dataFolder, folder, startAnyhow } = installed;
  const callId = await approved(stage);
  const copy = join(folder, 'copy');
  mkdirSync(copy);
  // As the shell of SQLite does it.
  const source = new DatabaseSync(join(dataFolder, 'events.db'), { readOnly: true });
  const { backup } = await import('node:sqlite');
  await backup(source, join(copy, 'events.db'));
  source.close();
  await server().stop('SIGKILL');
  const bytes = readFileSync(join(copy, 'events.db'));
  chmodSync(copy, 0o500);
  const keys = temporaryFolder();
  for (const name of ['keys.db', 'keys.db-wal', 'root.key', 'log.key', 'tokens.json'])
    if (existsSync(join(dataFolder, name))) cpSync(join(dataFolder, name), join(keys, name));
  const to = ['--to', join(folder, 'restored'), '--keys', keys, '--reason', 'tried'];
  await cli(installed, 'restore', copy, ...to);
  expect([readdirSync(copy), readFileSync(join(copy, 'events.db'))]).toEqual([['events.db'], bytes]);
  chmodSync(copy, 0o700);
  await startAnyhow({ COUNTERSIGN_DATA: join(folder, 'restored') }).ready();
  expect(await stateOf(installed, callId)).toBe('awaiting_approval');
  await server().stop();

  const at = bytes.lastIndexOf('ApprovalResponded');
  bytes.write('approvalResponded', at);
  writeFileSync(join(copy, 'events.db'), bytes);
  const refused = await runCli(installed, ['restore', copy, '--drill']);
  expect(refused).toMatchObject({ code: 1, err: expect.stringContaining('is not sound') as unknown });
}, 240_000);

/** The backups that the log names, and the marks that are left. Not of a running server. */
function named(dataFolder: string) {
  const backups = readLogFile(join(dataFolder, 'events.db')).filter(({ type }) => type === 'Backup');
  const marks = readdirSync(dataFolder).filter((name) => name.startsWith('backup-'));
  return { backups: backups.map(({ data }) => data as { readonly to: number; readonly manifest: string }), marks };
}

test('the log names each backup once: made while the server runs, while it is stopped, and with a kill before the mark is removed', async () => {
  const installed = await install();
  const { stage, server, dataFolder, folder, startAnyhow, http, tokens } = installed;
  await requestOne(stage);
  const make = () => cli(installed, 'backup', dataFolder, '-o', join(folder, 'backups'));
  const first = await make();
  expect(first).toMatchObject({ recorded: true });
  const path = '/v1/audit/events?types=Backup';
  const isNoted = async () => (await http.send({ method: 'GET', path, token: tokens.me })).text.includes('Backup');
  while (!(await isNoted())) await sleep(50);
  await server().stop();
  expect(named(dataFolder)).toMatchObject({ backups: [{ to: first.position }], marks: [] });

  const second = await make();
  const crashing = startAnyhow({ COUNTERSIGN_CRASH_AT: 'backup.recorded' });
  expect(await crashing.exited).toEqual({ code: null, signal: 'SIGKILL' });
  expect(named(dataFolder).marks).toHaveLength(1);
  await startAnyhow().ready();
  while (readdirSync(dataFolder).some((name) => name.startsWith('backup-'))) await sleep(50);
  await server().stop();
  const { backups } = named(dataFolder);
  expect(backups.map(({ to }) => to)).toEqual([first.position, second.position]);
  const manifest = createHash('sha256')
    .update(readFileSync(join(second.backup, 'manifest.json')))
    .digest('hex');
  expect(backups[1]?.manifest).toBe(`sha256:${manifest}`);
  expect(await folderComplaints(dataFolder)).toEqual([]);
}, 240_000);
