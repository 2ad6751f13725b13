import { DatabaseSync } from 'node:sqlite';
import { jest } from '@jest/globals';
import { applyAll, opened, recordPending, tight } from '../testing/opened.js';
import { scratchFolder } from '../testing/scratch-folder.js';
import { createTestLog, minute, verdict } from '../testing/test-log.js';

const path = scratchFolder();

describe('the file', () => {
  it('has rows and checkpoint of the same moment, also when writing fails half way', async () => {
    const log = createTestLog();
    const model = await opened(path('m.db'), log);
    const call = recordPending(log);
    applyAll(model, log);
    const other = new DatabaseSync(path('m.db'));
    other.exec("CREATE TRIGGER broken BEFORE INSERT ON requests BEGIN SELECT RAISE(ABORT, 'no room'); END");
    expect(() => {
      model.flush();
    }).toThrow('no room');
    expect(other.prepare('SELECT position FROM meta').get()).toEqual({ position: 0 });
    expect(other.prepare('SELECT count(*) AS calls FROM calls').get()).toEqual({ calls: 0 });
    // The folded rows stay visible, and are written when there is space again.
    expect(model.toolCall('default', call.callId)?.state).toBe('awaiting_approval');
    other.exec('DROP TRIGGER broken');
    model.flush();
    expect(other.prepare('SELECT position FROM meta').get()).toEqual({ position: 2 });
    expect(other.prepare('SELECT count(*) AS calls FROM calls').get()).toEqual({ calls: 1 });
    other.close();
    model.close();
  });

  it('tells listeners what became visible even when it could not be written', async () => {
    const log = createTestLog();
    const model = await opened(path('m.db'), log, { bounds: tight });
    const other = new DatabaseSync(path('m.db'));
    other.exec("CREATE TRIGGER broken BEFORE INSERT ON requests BEGIN SELECT RAISE(ABORT, 'no room'); END");
    const applied = jest.fn();
    model.onApplied(applied);
    recordPending(log);
    recordPending(log, 'call_2');
    expect(() => {
      applyAll(model, log);
    }).toThrow('no room');
    expect(model.checkpoint()).toBe(4);
    expect(applied).toHaveBeenCalledWith(expect.objectContaining({ events: log.events, position: 4 }));
    other.exec('DROP TRIGGER broken');
    other.close();
    applyAll(model, log);
    expect(model.run('default', 'run-1')).toHaveLength(2);
    model.close();
  });

  it('on a full disk answers every query all the same, and is written when there is room', async () => {
    const log = createTestLog();
    const model = await opened(path('m.db'), log);
    const call = recordPending(log);
    model.apply(log.events);
    let isFull = true;
    jest.spyOn(DatabaseSync.prototype, 'exec').mockImplementation(function (this: DatabaseSync, sql) {
      if (sql === 'COMMIT' && isFull) throw Object.assign(new Error('database or disk is full'), { errcode: 13 });
      this.prepare(sql).run();
    });
    expect(() => {
      model.flush();
    }).toThrow('disk is full');
    expect(model.listApprovals('default', {})).toMatchObject({
      rows: [{ call: { request: { callId: call.callId } } }],
    });
    expect(model.run('default', 'run-1')).toHaveLength(1);
    expect(model.due(Date.parse(minute(60)), 10)).toHaveLength(1);
    expect(model.stats()).toMatchObject({ calls: 1, pendingApprovals: 1, oldestPendingAt: minute(0) });
    isFull = false;
    model.flush();
    const other = new DatabaseSync(path('m.db'));
    expect(other.prepare('SELECT position FROM meta').get()).toEqual({ position: 2 });
    other.close();
    model.close();
  });

  it('is read back as it was left, with what was not flushed taken from the log', async () => {
    const log = createTestLog();
    const call = recordPending(log);
    const killed = await opened(path('m.db'), log);
    call.record('ApprovalResponded', { instruction: 'then verify', respondedAt: minute(3) });
    applyAll(killed, log);
    const expected = killed.toolCall('default', call.callId);
    // No close: as after a kill, the file has less than was shown.
    const model = await opened(path('m.db'), log);
    expect(model.toolCall('default', call.callId)).toEqual(expected);
    expect(model.stats()).toMatchObject({ checkpoint: 3, calls: 1, approvals: 1, pendingApprovals: 0 });
    model.close();
  });

  it('belongs to one writer: a second one is told so instead of mixing rows', async () => {
    const log = createTestLog();
    const one = await opened(path('m.db'), log);
    const two = await opened(path('m.db'), log);
    log.activatePolicy();
    applyAll(one, log);
    one.flush();
    applyAll(two, log);
    expect(() => {
      two.flush();
    }).toThrow('another process writes this read model');
    one.close();
  });

  it.each([
    ['many events', { unflushedEvents: 4, unflushedBytes: 1_000_000 }, 'x'],
    ['few large ones', { unflushedEvents: 1_000, unflushedBytes: 10_000 }, 'x'.repeat(5_000)],
  ])('is written after %s, so that memory stays bounded', async (_, bounds, text) => {
    const log = createTestLog();
    const model = await opened(path('m.db'), createTestLog(), { bounds });
    const other = new DatabaseSync(path('m.db'));
    const written = () => other.prepare('SELECT position FROM meta').get()?.['position'];
    for (const name of ['a', 'b', 'c']) log.call(name).record('ToolCallRequested', { arguments: { text: [text] } });
    model.apply(log.events.slice(0, 1));
    expect(written()).toBe(0);
    log.call('d').record('ToolCallRequested');
    model.apply(log.events);
    expect(written()).toBeGreaterThan(0);
    other.close();
    model.close();
  });

  it.each([
    ['an answer', 'ApprovalResponded', { decision: { type: 'answer', output: 'x'.repeat(9_000) } }],
    [
      'an edit',
      'ApprovalResponded',
      {
        decision: {
          type: 'edit',
          arguments: { text: 'x'.repeat(9_000) },
          sensitive: [] as string[],
          salt: null,
          verdict,
          requirement: null,
          clock: null,
        },
      },
    ],
    ['an output', 'ExecutionSucceeded', { output: { text: 'x'.repeat(9_000) } }],
    ['an error', 'ExecutionFailed', { error: 'x'.repeat(9_000) }],
  ] as const)('is written after %s that is large', async (_, type, change) => {
    const log = createTestLog();
    const model = await opened(path('m.db'), createTestLog(), { bounds: { unflushedBytes: 9_000 } });
    const other = new DatabaseSync(path('m.db'));
    recordPending(log).record(type, change);
    applyAll(model, log);
    expect(other.prepare('SELECT position FROM meta').get()).toEqual({ position: 3 });
    other.close();
    model.close();
  });
});
