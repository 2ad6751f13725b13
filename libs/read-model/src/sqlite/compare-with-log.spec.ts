import { DatabaseSync } from 'node:sqlite';
import { setImmediate as nextTurn } from 'node:timers/promises';
import { afterEach, expect, it } from '@jest/globals';
import { createCollectingLog, createVirtualClock } from '@countersign/runtime/testing';
import { createLogComparison } from '../compare-with-log.js';
import type { LogComparison } from '../compare-with-log.js';
import { opened, recordPending } from '../testing/opened.js';
import { scratchFolder } from '../testing/scratch-folder.js';
import { createTestLog } from '../testing/test-log.js';
import type { TestCall } from '../testing/test-log.js';

const path = scratchFolder();
let comparison: LogComparison | undefined;
afterEach(() => {
  comparison?.stop();
});

/** A read model of some calls, whose file is edited before it is opened again. */
async function edited(statement: string | null, calls = 30) {
  const log = createTestLog();
  const all = Array.from({ length: calls }, (_, index) => recordPending(log, `call_${String(index)}`));
  (await opened(path('m.db'), log)).close();
  if (statement !== null) {
    const file = new DatabaseSync(path('m.db'));
    const { changes } = file.prepare(statement).run();
    file.close();
    expect(changes).toBe(1);
  }
  const model = await opened(path('m.db'), log);
  const clock = createVirtualClock();
  const told = createCollectingLog();
  const readStream = (stream: string) => Promise.resolve(log.events.filter((event) => event.stream === stream));
  const store = { ...log.source, readStream };
  comparison = createLogComparison({ readModel: model, store, clock, log: told, chance: () => 0.5 });
  const { compared } = comparison;
  const until = async (isTrue: () => boolean): Promise<void> => {
    for (let looks = 0; looks < 3_000 && !isTrue(); looks += 1) {
      await nextTurn();
      clock.advance(100);
    }
    expect(isTrue()).toBe(true);
  };
  return { log, all, model, clock, told, compared, keep: comparison.keepComparing, until };
}

const shown = (model: Awaited<ReturnType<typeof opened>>, call: TestCall | undefined) =>
  model.toolCall('default', call?.callId ?? '')?.request.agentId;

it('finds nothing in a read model of the log', async () => {
  const { keep, until, compared, told } = await edited(null);
  void keep();
  await until(() => compared().atMs !== null);
  expect(compared()).toMatchObject({ differences: 0 });
  expect(told.entries).toEqual([]);
});

it.each([
  ['edited', "UPDATE requests SET request = replace(request, 'billing-agent', 'harmless-bot') WHERE seq = 11"],
  ['removed', 'DELETE FROM calls WHERE seq = 11'],
])('finds a call that was %s, says so, and builds the read model again', async (_, statement) => {
  const { all, model, keep, until, compared, told } = await edited(statement);
  expect(shown(model, all[5])).not.toBe('billing-agent');
  void keep();
  await until(() => compared().atMs !== null);
  expect(compared().differences).toBe(1);
  expect(told.entries.map(({ level, message }) => [level, message])).toEqual([
    ['error', 'the read model is not what the log says of a call'],
    ['warn', 'the read model was built again from the log'],
  ]);
  expect(shown(model, all[5])).toBe('billing-agent');
});

it.each([
  ['an approval is hidden from its list', "UPDATE approvals SET state = 'denied' WHERE call_seq = 11"],
  ['a call is moved to another list', "UPDATE calls SET state = 'succeeded' WHERE seq = 11"],
  [
    'a call is invented',
    "INSERT INTO calls SELECT 12, 'call_x', tenant, run_id, state, due_at, tool_name, agent_id, requested_by, requested_at, progress FROM calls WHERE seq = 11",
  ],
])('finds that %s', async (_, statement) => {
  const { keep, until, compared } = await edited(statement);
  void keep();
  await until(() => compared().atMs !== null);
  expect(compared().differences).toBe(1);
});

it('waits for a read model that is behind the log', async () => {
  const { log, model, keep, until, compared, told } = await edited(null, 3);
  recordPending(log, 'later');
  void keep();
  await until(() => compared().atMs !== null);
  model.apply(log.events);
  expect(told.entries).toEqual([]);
});

it('rests after a call that took long, and not only at the end of a page', async () => {
  const log = createTestLog();
  for (const name of ['a', 'b', 'c']) recordPending(log, name);
  const readModel = await opened(path('m.db'), log);
  const clock = createVirtualClock();
  let reads = 0;
  const readStream = (stream: string) => {
    reads += 1;
    clock.advance(20);
    return Promise.resolve(log.events.filter((event) => event.stream === stream));
  };
  const store = { ...log.source, readStream };
  comparison = createLogComparison({ readModel, store, clock, log: createCollectingLog(), chance: () => 0.5 });
  void comparison.keepComparing();
  for (let call = 1; call <= 3; call += 1) {
    for (let turn = 0; turn < 20; turn += 1) await nextTurn();
    expect(reads).toBe(call);
    clock.advance(19 * 20);
  }
});
