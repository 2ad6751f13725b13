import { DatabaseSync } from 'node:sqlite';
import { setImmediate } from 'node:timers/promises';
import { jest } from '@jest/globals';
import { isReadable, toLogEvent } from '@countersign/contracts';
import type { RecordedEvent, UnreadableEvent } from '@countersign/contracts';
import { createCollectingLog } from '@countersign/runtime/testing';
import { applyAll, opened, recordPending } from '../testing/opened.js';
import { scratchFolder } from '../testing/scratch-folder.js';
import { createTestLog, minute } from '../testing/test-log.js';
import type { TestCall } from '../testing/test-log.js';

const path = scratchFolder();

/** The event as a process sees it that is older than the one that wrote it. */
function asLater(event: RecordedEvent | undefined): UnreadableEvent {
  if (event === undefined) throw new Error('nothing is recorded');
  const read = toLogEvent({ ...event, metadata: { ...event.metadata, schemaVersion: 99 } });
  if (isReadable(read)) throw new Error('a later version can be read');
  return read;
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

  it('shows a call once all of the append that requested it has come', async () => {
    const log = createTestLog();
    const model = await opened(path('m.db'), log);
    const shown = (call: TestCall, runId: string): readonly unknown[] => [
      model.toolCall('default', call.callId)?.state,
      model.run('default', runId).length,
      model.requesterOf('default', call.callId),
    ];
    const asked = log.call('call_1', { runId: 'run-1' });
    const allowed = log.call('call_2', { runId: 'run-2' });
    for (const call of [asked, allowed]) call.record('ToolCallRequested');
    applyAll(model, log);
    expect(shown(asked, 'run-1')).toEqual([undefined, 0, 'agent']);
    expect(shown(allowed, 'run-2')).toEqual([undefined, 0, 'agent']);
    asked.record('ApprovalRequested', { approvalId: asked.approvalId() });
    allowed.record('ToolCallAllowed');
    applyAll(model, log);
    expect(shown(asked, 'run-1')).toEqual(['awaiting_approval', 1, 'agent']);
    expect(shown(allowed, 'run-2')).toEqual(['allowed', 1, 'agent']);
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
    expect(model.toolCall('default', call.callId)).toMatchObject({ revision: 2, approvals: [{ votes: [{}] }] });
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

  it('sets a call aside at an event that this version cannot read: its state stays, and no deadline is due', async () => {
    const log = createTestLog();
    const call = recordPending(log);
    const model = await opened(path('m.db'), log);
    applyAll(model, log);
    expect(model.nextDueAt()).not.toBeNull();
    call.record('ApprovalResponded');
    const later = asLater(log.events.at(-1));
    model.apply([later]);
    const why: unknown = expect.stringContaining('schema version 99');
    const mark = { eventId: later.eventId, position: later.position, revision: later.revision, why };
    expect(model.toolCall('default', call.callId)).toMatchObject({ state: 'awaiting_approval', unreadable: mark });
    expect(model.unreadable.all()).toMatchObject([
      { stream: later.stream, callId: call.callId, tenant: 'default', why },
    ]);
    expect(model.nextDueAt()).toBeNull();
    expect(model.due(Number.MAX_SAFE_INTEGER, 10)).toEqual([]);
    expect(model.checkpoint()).toBe(later.position);
    model.close();
    const again = await opened(path('m.db'), log);
    expect(again.toolCall('default', call.callId)).toMatchObject({ state: 'awaiting_approval', unreadable: mark });
    expect(again.unreadable.find(later.stream)).toMatchObject({ why });
    again.close();
  });

  it('folds nothing that follows an event that cannot be read, and everything of other calls', async () => {
    const log = createTestLog();
    const [call, other] = [recordPending(log, 'call_1'), recordPending(log, 'call_2')];
    const model = await opened(path('m.db'), log);
    applyAll(model, log);
    call.record('ValuesRevealed');
    const later = asLater(log.events.at(-1));
    call.record('ApprovalResponded');
    other.record('ApprovalResponded');
    model.apply([later, ...log.events.slice(later.position)]);
    expect(model.toolCall('default', call.callId)?.state).toBe('awaiting_approval');
    expect(model.toolCall('default', other.callId)?.state).toBe('approved');
    model.close();
  });

  it('sets the policy of a tenant aside by its last activation, until one that can be read follows', async () => {
    const log = createTestLog();
    const model = await opened(path('m.db'), log);
    const [first, second, third] = [log.activatePolicy(), log.activatePolicy(), log.activatePolicy()];
    model.apply([asLater(first), asLater(second)]);
    expect(model.unreadable.all()).toMatchObject([{ stream: 'policy-default', eventId: second.eventId }]);
    model.flush();
    model.apply([third]);
    expect(model.unreadable.all()).toEqual([]);
    model.close();
    const again = await opened(path('m.db'), log);
    expect(again.unreadable.all()).toEqual([]);
    again.close();
  });

  it('takes a stream up again when a version that reads more opens the file', async () => {
    const log = createTestLog();
    const call = recordPending(log);
    const model = await opened(path('m.db'), log);
    applyAll(model, log);
    call.record('ApprovalResponded');
    model.apply([asLater(log.events.at(-1))]);
    model.close();
    const db = new DatabaseSync(path('m.db'));
    db.exec("UPDATE unreadable SET reader = 'an older version'");
    db.close();
    const again = await opened(path('m.db'), log);
    expect(again.toolCall('default', call.callId)).toMatchObject({ state: 'approved', unreadable: null });
    expect(again.unreadable.all()).toEqual([]);
    again.close();
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

describe('tenants', () => {
  it('see nothing of each other, even with the same names', async () => {
    const log = createTestLog();
    const mine = recordPending(log, 'call_1', { tenant: 'mine', runId: 'run-1' });
    const theirs = recordPending(log, 'call_1', { tenant: 'theirs', runId: 'run-1' });
    const model = await opened(path('m.db'), log);
    expect(model.toolCall('mine', theirs.callId)).toBeUndefined();
    expect(model.approval('mine', theirs.approvalId())).toBeUndefined();
    expect(model.run('mine', 'run-1').map(({ request }) => request.callId)).toEqual([mine.callId]);
    expect(model.openCallsOfRun('mine', 'run-1').calls).toMatchObject([{ callId: mine.callId }]);
    for (const query of [{}, { runId: 'run-1' }, { toolName: 'refund_order' }, { group: 'ops' }]) {
      const page = model.listApprovals('mine', query);
      expect(page).toMatchObject({ rows: [{ call: { request: { tenant: 'mine' } } }], nextCursor: null });
    }
    expect(model.listApprovals('nobody', {})).toMatchObject({ rows: [] });
    expect(model.run('nobody', 'run-1')).toEqual([]);
    model.close();
  });
});

describe('a missing entry', () => {
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

describe('the first call of a queue', () => {
  const queued = (log: ReturnType<typeof createTestLog>, name: string, requestedBy = 'agent'): TestCall => {
    const call = log.call(name, { runId: 'run-1' });
    call.record('ToolCallRequested', { requestedBy, batchMode: 'sequential' });
    call.record('ToolCallQueued', { question: null });
    return call;
  };
  const denied = (log: ReturnType<typeof createTestLog>): TestCall => {
    const call = recordPending(log, 'denied', { runId: 'run-1' });
    const decision = { type: 'deny' } as const;
    call.record('ApprovalResponded', { approvalId: call.approvalId(), decision, resolution: 'denied', endsRun: true });
    return call;
  };

  it.each([1, 99])('names the denial that ended its run since it waits, with %i events at a time', async (atOnce) => {
    const log = createTestLog();
    const model = await opened(path('m.db'), log);
    const [first, other] = [queued(log, 'first'), queued(log, 'other', 'other')];
    if (atOnce === 1) applyAll(model, log);
    const ending = denied(log);
    applyAll(model, log);
    const endedBy = ending.callId;
    expect(model.firstInQueueOf('default', first.callId)).toMatchObject({ callId: first.callId, waits: true, endedBy });
    expect(model.openCallsOfRun('default', 'run-1').calls).toMatchObject([
      { waitsForTurn: true },
      { waitsForTurn: true },
    ]);
    expect(model.firstInQueueOf('default', other.callId)).not.toHaveProperty('endedBy');
    expect(model.turnsToTake()).toHaveLength(2);
    expect(model.turnsToTake()).toContainEqual(expect.objectContaining({ callId: first.callId, endedBy }));
    model.close();
  });

  it('of a later request has nothing to do with the denial', async () => {
    const log = createTestLog();
    denied(log);
    const later = queued(log, 'later');
    const model = await opened(path('m.db'), log);
    expect(model.firstInQueueOf('default', later.callId)).toEqual({
      tenant: 'default',
      callId: later.callId,
      waits: true,
      round: 1,
    });
    model.close();
  });

  it('waits for one that cannot be read until a person cancels the run, and then only those that are queued later', async () => {
    const log = createTestLog();
    const model = await opened(path('m.db'), log);
    const [first, second] = [queued(log, 'first'), queued(log, 'second')];
    applyAll(model, log);
    first.record('ToolCallAllowed');
    model.apply([asLater(log.events.at(-1))]);
    const head = { tenant: 'default', callId: first.callId };
    expect(model.firstInQueueOf('default', second.callId)).toMatchObject({ ...head, waits: false });
    expect(model.turnsToTake()).toEqual([]);
    expect(model.turnsHeld()).toEqual([{ ...head, runId: 'run-1' }]);
    log.cancelRun('run-1', [first.callId, second.callId], 'countersign');
    log.cancelRun('run-1', [first.callId, second.callId], 'me');
    const third = queued(log, 'third');
    model.apply(log.events.slice(model.checkpoint()));
    expect(model.firstInQueueOf('default', third.callId)).toMatchObject({ callId: first.callId, waits: false });
    second.record('ToolCallCancelled', { approvalId: null });
    model.apply(log.events.slice(model.checkpoint()));
    expect(model.firstInQueueOf('default', first.callId)).toMatchObject({ callId: third.callId, waits: true });
    expect(model.turnsToTake()).toMatchObject([{ callId: third.callId }]);
    expect(model.turnsHeld()).toEqual([]);
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
    const open = [calls[0], calls[2]].map((call) => ({ callId: call?.callId, requestedBy: 'agent' }));
    expect(model.openCallsOfRun('default', 'run-1')).toEqual({ calls: open, requesters: ['agent'] });
    model.close();
  });

  it('name every principal that has one, open or not, each once', async () => {
    const log = createTestLog();
    const calls = ['anne', 'anne', 'bob'].map((requestedBy, index) => {
      const call = log.call(`call_${String(index)}`, { runId: 'run-1' });
      call.record('ToolCallRequested', { requestedBy });
      call.record('ToolCallAllowed');
      return call;
    });
    calls[2]?.record('ToolCallCancelled');
    const model = await opened(path('m.db'), log);
    expect(model.openCallsOfRun('default', 'run-1').requesters.toSorted()).toEqual(['anne', 'bob']);
    expect(model.openCallsOfRun('default', 'run-9')).toEqual({ calls: [], requesters: [] });
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
      unknownOutcomes: 0,
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
