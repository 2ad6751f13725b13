import { setTimeout as sleep } from 'node:timers/promises';
import { beforeAll, expect, test } from '@jest/globals';
import { whileFrozen } from '../../../freeze.ts';
import type { Entry } from '../../audit/log.js';
import { cleanUpAfterAll } from '../../harness/cleanup.js';
import { eventually } from '../../harness/wait.js';
import { respond } from '../../traffic/approval-scenes.js';
import type { Execution } from '../../traffic/journal.js';
import { createLedger } from '../../traffic/ledger.js';
import { requestOne } from '../../traffic/scene.js';
import { createNames } from '../../traffic/traffic.js';
import { install, tokens } from './installation.js';
import type { Installation } from './installation.js';
import { settleAndJudge } from './judge.js';
import { awaitCall } from './kafka-scenes.js';
import { slowTool } from './service-tools.js';
import { readTopic } from './topic-reader.js';
import { startTraffic } from './traffic.js';

cleanUpAfterAll();

const killsWanted = Number(process.env['COUNTERSIGN_TEST_CLUSTER_KILLS'] ?? '') || 12;

/** Each of the two in turn, and each again. */
const killsOfNotifiers = process.env['COUNTERSIGN_TEST_NIGHTLY'] === '1' ? 12 : 4;

let installation: Installation;

beforeAll(async () => {
  installation = await install({ more: ['notifier', 'notifier'] });
}, 600_000);

test('kill -9 of each role in turn and at random: nothing is lost, nothing runs twice, every call ends', async () => {
  const { random } = installation;
  const traffic = startTraffic(installation);
  const inTurn = ['gateway', 'ledger', 'relay', 'projector', 'resolver', 'notifier'].flatMap(
    (role) => installation.of(role)[0] ?? [],
  );
  for (let kill = 0; kill < killsWanted; kill += 1) {
    await sleep(random.int(100, 1500));
    await (inTurn[kill] ?? random.pick(installation.processes())).kill();
  }
  await installation.allReady();
  await traffic.stop();
  const { complaints, entries } = await settleAndJudge(installation);
  const [scenes, events] = [traffic.scenes(), entries.length].map(String);
  process.stdout.write(`${scenes ?? ''} scenes, ${events ?? ''} events, ${latestExpiry(entries)}\n`);
  expect(complaints).toEqual([]);
  expect(traffic.scenes()).toBeGreaterThan(killsWanted);
}, 600_000);

test('a relay killed between publishing and keeping its place: published again, in order, by the other one', async () => {
  const { of, requests, topics } = installation;
  const traffic = startTraffic(installation);
  const relays = of('relay');
  for (const relay of relays) relay.setEnv({ COUNTERSIGN_CRASH_AT: 'relay.after-publish:3' });
  const before = relays.map(({ starts }) => starts());
  for (const relay of relays) await relay.restart();
  await eventually('a relay to die after it has published', () =>
    relays.some(({ starts }, index) => starts() > (before[index] ?? 0) + 1) ? true : undefined,
  );
  for (const relay of relays) relay.setEnv({});
  for (const relay of relays) await relay.restart();
  await traffic.stop();
  const { complaints } = await settleAndJudge(installation);
  expect(complaints).toEqual([]);
  const ids = (await readTopic(requests.kafka, topics.events)).map(({ headers }) => headers['ce_id']);
  // The purpose of the crash point: duplicate events.
  expect(new Set(ids).size).toBeLessThan(ids.length);
}, 480_000);

test('a resolver that was stopped for longer than its lease wakes up to nothing: another one has the call', async () => {
  const { of, tools, openHttp, journal, random } = installation;
  const traffic = startTraffic(installation);
  const http = openHttp();
  const ledger = createLedger(http, tokens, journal, 'zombie');
  const stage = { ledger, journal, random, name: createNames('zombie') };
  const call = await requestOne(stage, { toolName: slowTool });
  await respond(stage, call, { type: 'approve' });
  const runsOf = (): readonly Execution[] => tools.executions().filter(({ callId }) => callId === call.callId);
  const [first] = await eventually('the tool to run', () => (runsOf().length > 0 ? runsOf() : undefined), 50);
  const { pid } = first as Execution & { readonly pid: number };
  const zombie = of('resolver').find(({ server }) => server().pid === pid);
  if (zombie === undefined) throw new Error('no process runs the tool');
  await whileFrozen(pid, async () => {
    const unknown = await awaitCall(stage, call.callId, ({ state }) => state === 'unknown');
    // Only a person may order another try.
    expect((await ledger.reconcile(unknown.callId, { status: 'retry', note: 'did not happen' })).status).toBe('ok');
    await eventually('another resolver to run it', () => (runsOf().length === 2 ? true : undefined), 50);
  });
  tools.openGate();
  const { output } = await awaitCall(stage, call.callId, ({ state }) => state === 'succeeded');
  expect(output).toEqual({ waited: true });
  await eventually('the zombie to be told', () =>
    /the claim is lost|the report was refused/.test(zombie.output()) ? true : undefined,
  );
  http.close();
  await traffic.stop();
  const { complaints, entries } = await settleAndJudge(installation);
  expect(complaints).toEqual([]);
  const ends = entries.filter(({ callId, type }) => callId === call.callId && type === 'ExecutionSucceeded');
  expect(ends.map(({ data }) => (data as { readonly attempt: number }).attempt)).toEqual([2]);
}, 600_000);

test('kill -9 of the notifiers, in turn and again: everything that ended is told, and hardly anything twice', async () => {
  const traffic = startTraffic(installation);
  const before = traffic.scenes();
  for (let kill = 0; kill < killsOfNotifiers; kill += 1) {
    await sleep(installation.random.int(500, 2_000));
    await installation.of('notifier')[kill % 2]?.kill();
  }
  await eventually('work to go on', () => (traffic.scenes() > before + 20 ? true : undefined));
  await traffic.stop();
  const { complaints } = await settleAndJudge(installation);
  expect(complaints).toEqual([]);
}, 600_000);

test('a third ledger that joins, and one that dies: the partitions move, and no request is lost or carried out twice', async () => {
  const traffic = startTraffic(installation);
  const third = await installation.add('ledger');
  await third.ready();
  const [first] = installation.of('ledger');
  if (first === undefined) throw new Error('there is no ledger');
  await installation.remove(first, 'SIGKILL');
  const scenes = traffic.scenes();
  await eventually('work to go on', () => (traffic.scenes() > scenes + 20 ? true : undefined));
  await installation.remove(third, 'SIGTERM');
  await traffic.stop();
  const { complaints } = await settleAndJudge(installation);
  expect(complaints).toEqual([]);
}, 480_000);

/** Returns the longest delay of a recorded expiry. One process fires the deadlines, and it is killed too. */
function latestExpiry(entries: readonly Entry[]): string {
  const deadlines = new Map<string, number>();
  let lateMs = 0;
  for (const { type, data, recordedAt } of entries) {
    const { approvalId, expiresAt } = data as { readonly approvalId: string; readonly expiresAt: string | null };
    if (type === 'ApprovalRequested' && expiresAt !== null) deadlines.set(approvalId, Date.parse(expiresAt));
    if (type === 'ApprovalExpired')
      lateMs = Math.max(lateMs, Date.parse(recordedAt) - (deadlines.get(approvalId) ?? 0));
  }
  return `the latest expiry ${String(lateMs)} ms after its deadline`;
}
