import { copyFileSync, cpSync, mkdirSync, readdirSync, rmSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { readLogFile } from './audit/log.js';
import { runCli } from './cli/run-cli.js';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import type { Server } from './harness/server.js';
import { install } from './harness/standalone.js';
import { folderComplaints } from './harness/verified-folder.js';
import { within } from './harness/wait.js';
import { accepted, claim, execute, pendingIdOf, requestOne } from './traffic/scene.js';
import type { Stage } from './traffic/scene.js';

cleanUpAfterEach();

/** Requests, approves and claims calls, four events each. */
async function claimCalls(stage: Stage, calls: number): Promise<void> {
  for (let call = 0; call < calls; call += 1) {
    const asked = await requestOne(stage, { needsApproval: true });
    const reply = await stage.ledger.respond(pendingIdOf(asked), { decision: { type: 'approve' } });
    accepted(stage, 'approve', reply);
    await claim(stage, asked.callId, 60_000);
  }
}

/** Expects a start to exit with code 1 and the reason. */
async function expectRefusal(server: Server, ...said: readonly RegExp[]): Promise<void> {
  expect(await within(100_000, server.exited)).toMatchObject({ code: 1 });
  for (const words of said) expect(server.output()).toMatch(words);
}

/** The events without those that each start records of itself. */
const eventsOfCalls = (folder: string) =>
  readLogFile(join(folder, 'events.db')).filter(({ callId }) => callId !== null);

const remove = (folder: string, ...names: readonly string[]): void => {
  for (const name of names) rmSync(join(folder, name), { force: true });
};

describe('a log that has lost its end is refused at the start', () => {
  test('after a kill and without its write-ahead log', async () => {
    const { stage, server, startAnyhow, restart, dataFolder } = await install();
    await claimCalls(stage, 30);
    await server().stop('SIGKILL');
    copyFileSync(join(dataFolder, 'events.db-wal'), join(dataFolder, 'kept'));
    remove(dataFolder, 'events.db-wal', 'events.db-shm');
    await expectRefusal(startAnyhow(), /ends at position 0\b/, /position 123\b/, /restore the folder/);
    copyFileSync(join(dataFolder, 'kept'), join(dataFolder, 'events.db-wal'));
    await restart();
    await server().stop();
    expect(eventsOfCalls(dataFolder)).toHaveLength(120);
    expect(await folderComplaints(dataFolder)).toEqual([]);
  });

  test('with an older copy of events.db alone', async () => {
    const installed = await install();
    const { stage, server, startAnyhow, restart, dataFolder } = installed;
    await claimCalls(stage, 2);
    await server().stop();
    copyFileSync(join(dataFolder, 'events.db'), join(dataFolder, 'older'));
    await restart();
    await claimCalls(stage, 30);
    await server().stop('SIGKILL');
    remove(dataFolder, 'events.db-wal', 'events.db-shm');
    copyFileSync(join(dataFolder, 'older'), join(dataFolder, 'events.db'));
    await expectRefusal(startAnyhow(), /ends at position 11\b/, /position 132\b/, /COUNTERSIGN_ACCEPT_LOG_END=11\b/);
    // An operator who accepts the loss continues, once and for this end only.
    await expectRefusal(startAnyhow({ COUNTERSIGN_ACCEPT_LOG_END: '7' }), /ends at position 11\b/);
    remove(dataFolder, 'read-model.db', 'read-model.db-wal', 'read-model.db-shm');
    await restart({ COUNTERSIGN_ACCEPT_LOG_END: '11' });
    await server().stop();
    const named = readLogFile(join(dataFolder, 'events.db')).filter(({ type }) => type === 'LogEndAccepted');
    expect(named.map(({ data }) => data)).toEqual([expect.objectContaining({ from: 132, to: 11 })]);
    const warning = /the log has lost its end/;
    expect((await restart()).output()).toMatch(warning);
    const told = 'the events after position 11 up to 132 are missing';
    expect((await runCli(installed, ['status'])).out).toContain(`  log       ${told}`);
    const known = await runCli(installed, ['audit', 'continue', '--reason', 'the disk was replaced']);
    expect({ code: known.code, err: known.err }).toEqual({ code: 0, err: '' });
    expect((await runCli(installed, ['status'])).out).not.toContain(told);
    await server().stop();
    const accepted = readLogFile(join(dataFolder, 'events.db')).filter(({ type }) => type === 'LogEndAccepted');
    expect(accepted.map(({ data }) => data).at(-1)).toMatchObject({
      from: 132,
      to: 11,
      by: 'me',
      reason: 'the disk was replaced',
    });
    expect((await restart()).output()).not.toMatch(warning);
    await claimCalls(stage, 1);
  });

  test.each([
    ['bus.db', /bus\.db has read the log up to position/],
    ['idempotency.db', /idempotency\.db knows requests up to position/],
  ])('as %s alone tells', async (kept, said) => {
    const { stage, server, startAnyhow, dataFolder } = await install();
    await claimCalls(stage, 5);
    await server().stop();
    const others = readdirSync(dataFolder).filter((name) => name !== kept && name !== 'tokens.json');
    remove(dataFolder, ...others);
    await expectRefusal(startAnyhow(), said, /ends at position 0\b/, /COUNTERSIGN_ACCEPT_LOG_END=0\b/);
  });

  test('when events.db alone was copied from a running folder', async () => {
    const { stage, server, folder, startAnyhow, dataFolder } = await install();
    await claimCalls(stage, 2);
    mkdirSync(join(folder, 'aside'));
    copyFileSync(join(dataFolder, 'events.db'), join(folder, 'aside', 'events.db'));
    await server().stop('SIGKILL');
    await expectRefusal(
      startAnyhow({ COUNTERSIGN_DATA: join(folder, 'aside') }),
      /in use/,
      /events\.db-wal/,
      /restore the folder/,
    );
  });
});

describe('a log that has all its events is taken', () => {
  test('from a copy of the stopped folder, from a copy of log and write-ahead log alone, and after a kill', async () => {
    const { stage, server, restart, dataFolder } = await install();
    await claimCalls(stage, 3);
    await server().stop();
    const stopped = join(temporaryFolder(), 'stopped');
    cpSync(dataFolder, stopped, { recursive: true });
    await restart({ COUNTERSIGN_DATA: stopped });
    await execute(stage, (await requestOne(stage)).callId);
    await server().stop();
    await restart();
    await claimCalls(stage, 3);
    await server().stop('SIGKILL');
    const two = join(temporaryFolder(), 'two');
    mkdirSync(two);
    for (const name of ['events.db', 'events.db-wal', 'tokens.json'])
      copyFileSync(join(dataFolder, name), join(two, name));
    await restart({ COUNTERSIGN_DATA: two });
    await server().stop();
    expect(eventsOfCalls(two)).toHaveLength(24);
    await restart();
    await server().stop('SIGKILL');
    await restart();
    await server().stop();
    expect(eventsOfCalls(dataFolder)).toHaveLength(24);
  });
});

test('every file of the data folder has the mode 600', async () => {
  const { stage, server, dataFolder } = await install();
  await requestOne(stage);
  const modes = (): readonly string[] =>
    readdirSync(dataFolder).flatMap((name) => {
      const mode = statSync(join(dataFolder, name)).mode & 0o777;
      return mode === 0o600 ? [] : [`${name} ${mode.toString(8)}`];
    });
  expect(modes()).toEqual([]);
  await server().stop();
  expect(modes()).toEqual([]);
});
