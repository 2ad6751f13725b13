import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { UnreadableEventError } from '@countersign/contracts';
import { createCollectingLog } from '@countersign/runtime/testing';
import { applyAll, opened, tight } from '../testing/opened.js';
import { scratchFolder } from '../testing/scratch-folder.js';
import { createTestLog, minute, verdict } from '../testing/test-log.js';
import type { TestLog } from '../testing/test-log.js';

const path = scratchFolder();

function recordPending(log: TestLog, toolCallId = 'call_1', of: { tenant?: string; runId?: string } = {}) {
  const call = log.call(toolCallId, of);
  call.record('ToolCallRequested');
  call.record('ApprovalRequested', { approvalId: call.approvalId() });
  return call;
}

describe('apply', () => {
  it('shows at once what it was given', async () => {
    const log = createTestLog();
    const model = await opened(path('m.db'), log);
    const call = recordPending(log);
    applyAll(model, log);
    expect(model.checkpoint()).toBe(2);
    expect(model.toolCall('default', call.callId)?.state).toBe('awaiting_approval');
    expect(model.approval('default', call.approvalId())?.approval.round).toBe(1);
    expect(model.run('default', 'run-1')).toHaveLength(1);
    expect(model.listApprovals('default', {})).toMatchObject({ rows: [{ approval: { round: 1 } }], position: 2 });
    model.close();
  });

  it('passes over what it has already seen, alone or in front of new events', async () => {
    const log = createTestLog();
    const model = await opened(path('m.db'), log);
    const call = recordPending(log);
    applyAll(model, log);
    applyAll(model, log);
    call.record('ApprovalResponded');
    applyAll(model, log);
    expect(model.toolCall('default', call.callId)).toMatchObject({ revision: 2, approvals: [{ responses: [{}] }] });
    model.close();
  });

  it('moves on over events of other streams', async () => {
    const log = createTestLog();
    const model = await opened(path('m.db'), log);
    log.activatePolicy();
    applyAll(model, log);
    expect(model.checkpoint()).toBe(1);
    model.close();
    expect((await opened(path('m.db'), log)).checkpoint()).toBe(1);
  });

  it('stops before an event that this version cannot read, and applies nothing of its group', async () => {
    const log = createTestLog();
    const model = await opened(path('m.db'), log);
    recordPending(log);
    const [first, second] = log.events;
    const newer = { ...second, metadata: { ...second?.metadata, schemaVersion: 99 } } as (typeof log.events)[number];
    expect(() => {
      model.apply([...(first === undefined ? [] : [first]), newer]);
    }).toThrow(UnreadableEventError);
    expect(model.checkpoint()).toBe(0);
    model.close();
  });

  it('never changes a row that a reader holds', async () => {
    const log = createTestLog();
    const call = recordPending(log);
    const model = await opened(path('m.db'), log);
    const before = model.toolCall('default', call.callId);
    call.record('ApprovalResponded');
    applyAll(model, log);
    expect(before?.state).toBe('awaiting_approval');
    expect(model.toolCall('default', call.callId)?.state).toBe('approved');
    model.close();
  });
});

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
    // What was folded is still shown, and written when there is room again.
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
          sensitive: [],
          salt: null,
          verdict,
          requirement: null,
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

describe('tenants', () => {
  it('see nothing of each other, even with the same names', async () => {
    const log = createTestLog();
    const mine = recordPending(log, 'call_1', { tenant: 'mine', runId: 'run-1' });
    const theirs = recordPending(log, 'call_1', { tenant: 'theirs', runId: 'run-1' });
    const model = await opened(path('m.db'), log);
    expect(model.toolCall('mine', theirs.callId)).toBeUndefined();
    expect(model.approval('mine', theirs.approvalId())).toBeUndefined();
    expect(model.run('mine', 'run-1').map(({ request }) => request.callId)).toEqual([mine.callId]);
    expect(model.openCalls('mine', 'run-1').map(({ request }) => request.callId)).toEqual([mine.callId]);
    for (const query of [{}, { runId: 'run-1' }, { toolName: 'refund_order' }, { group: 'ops' }]) {
      const page = model.listApprovals('mine', query);
      expect(page).toMatchObject({ rows: [{ call: { request: { tenant: 'mine' } } }], nextCursor: null });
    }
    expect(model.listApprovals('nobody', {})).toMatchObject({ rows: [] });
    expect(model.run('nobody', 'run-1')).toEqual([]);
    model.close();
  });
});

describe('what is not there', () => {
  it('is undefined or empty', async () => {
    const log = createTestLog();
    const call = recordPending(log);
    const model = await opened(path('m.db'), log);
    expect(model.toolCall('default', 'tc_unknown')).toBeUndefined();
    expect(model.approval('default', 'nonsense')).toBeUndefined();
    expect(model.approval('default', call.approvalId(2))).toBeUndefined();
    expect(model.run('default', 'run-9')).toEqual([]);
    model.close();
  });
});

describe('the calls of a run', () => {
  it('come in the order of their requests, the open ones apart', async () => {
    const log = createTestLog();
    const calls = ['b', 'a', 'c'].map((name) => recordPending(log, name));
    calls[1]?.record('ToolCallCancelled');
    const model = await opened(path('m.db'), log);
    expect(model.run('default', 'run-1').map(({ request }) => request.toolCallId)).toEqual(['b', 'a', 'c']);
    expect(model.openCalls('default', 'run-1').map(({ request }) => request.toolCallId)).toEqual(['b', 'c']);
    model.close();
  });
});

describe('reached', () => {
  it('settles at once for a position that every read shows', async () => {
    const log = createTestLog();
    recordPending(log);
    const model = await opened(path('m.db'), log);
    await expect(model.reached(2)).resolves.toBeUndefined();
    model.close();
  });

  it('settles when the position is applied, and not before', async () => {
    const log = createTestLog();
    const model = await opened(path('m.db'), log);
    const done = jest.fn();
    const waiting = model.reached(2).then(done);
    recordPending(log);
    model.apply(log.events.slice(0, 1));
    await setImmediate();
    expect(done).not.toHaveBeenCalled();
    model.apply(log.events);
    await waiting;
    expect(done).toHaveBeenCalled();
    model.close();
  });

  it('rejects when the caller gives up, already or later, and when the model closes', async () => {
    const model = await opened(path('m.db'), createTestLog());
    await expect(model.reached(5, AbortSignal.abort())).rejects.toThrow('position 5 was not reached in time');
    const abort = new AbortController();
    const waiting = model.reached(5, abort.signal);
    abort.abort();
    await expect(waiting).rejects.toThrow('position 5 was not reached in time');
    const closed = model.reached(5);
    model.close();
    await expect(closed).rejects.toThrow('closed');
  });
});

describe('onApplied', () => {
  it('tells within apply what became visible, each call once', async () => {
    const log = createTestLog();
    const model = await opened(path('m.db'), log);
    const seen: unknown[] = [];
    const stop = model.onApplied(({ events, callIds, position }) => {
      seen.push([events.length, callIds, position, model.toolCall('default', callIds[0] ?? '')?.state]);
    });
    const call = recordPending(log);
    log.activatePolicy();
    applyAll(model, log);
    expect(seen).toEqual([[3, [call.callId], 3, 'awaiting_approval']]);
    applyAll(model, log);
    stop();
    call.record('ApprovalResponded');
    applyAll(model, log);
    expect(seen).toHaveLength(1);
    model.close();
  });

  it('is not disturbed by a listener that throws', async () => {
    const log = createTestLog();
    const lines = createCollectingLog();
    const model = await opened(path('m.db'), log, { log: lines });
    const second = jest.fn();
    model.onApplied(() => {
      throw new Error('mistake');
    });
    model.onApplied(second);
    recordPending(log);
    applyAll(model, log);
    expect(second).toHaveBeenCalled();
    expect(lines.entries).toMatchObject([{ level: 'error', message: 'a listener to the read model failed' }]);
    model.close();
  });
});

describe('stats', () => {
  it('count rows and name the oldest pending request of all tenants', async () => {
    const log = createTestLog();
    const first = log.call('call_1', { tenant: 'b' });
    first.record('ToolCallRequested');
    first.record('ApprovalRequested', { requestedAt: minute(1) });
    const second = log.call('call_1', { tenant: 'a' });
    second.record('ToolCallRequested');
    second.record('ApprovalRequested', { requestedAt: minute(2) });
    const model = await opened(path('m.db'), log);
    expect(model.stats()).toEqual({
      checkpoint: 4,
      calls: 2,
      approvals: 2,
      pendingApprovals: 2,
      oldestPendingAt: minute(1),
    });
    first.record('ApprovalExpired');
    applyAll(model, log);
    expect(model.stats()).toMatchObject({ pendingApprovals: 1, oldestPendingAt: minute(2) });
    second.record('ToolCallCancelled', { approvalId: second.approvalId() });
    applyAll(model, log);
    expect(model.stats()).toMatchObject({ approvals: 2, pendingApprovals: 0, oldestPendingAt: null });
    model.close();
  });
});
