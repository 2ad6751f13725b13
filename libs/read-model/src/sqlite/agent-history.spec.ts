import { describe, expect, it } from '@jest/globals';
import { applyAll, opened, recordPending } from '../testing/opened.js';
import { scratchFolder } from '../testing/scratch-folder.js';
import { createTestLog, minute } from '../testing/test-log.js';
import type { TestLog } from '../testing/test-log.js';

const path = scratchFolder();
const agent = { requestedBy: 'agent', agentId: 'billing-agent' };

async function modelOf(log: TestLog) {
  const model = await opened(path('read-model.db'), createTestLog());
  applyAll(model, log);
  return model;
}

function decide(log: TestLog, toolCallId: string, type: 'approve' | 'deny', at: number, automatic = false): void {
  const resolution = type === 'deny' ? 'denied' : 'approved';
  const call = recordPending(log, toolCallId);
  call.record('ApprovalResponded', { decision: { type }, resolution, respondedAt: minute(at), automatic });
}

describe('the history of an agent', () => {
  it('counts what is pending of this agent and tenant, up to a limit', async () => {
    const log = createTestLog();
    for (const name of ['a', 'b', 'c']) recordPending(log, name);
    recordPending(log, 'd', { tenant: 'other' });
    decide(log, 'e', 'deny', 1);
    const model = await modelOf(log);
    expect([model.pendingOf('default', agent, 10), model.pendingOf('default', agent, 2)]).toEqual([3, 2]);
    expect(model.pendingOf('default', { ...agent, agentId: 'another' }, 10)).toBe(0);
    expect(model.pendingOf('default', { ...agent, requestedBy: 'another' }, 10)).toBe(0);
    expect(model.pendingOf('default', { requestedBy: 'agent' }, 10)).toBe(3);
    model.close();
  });

  it('lists the denials since the last approval by a person, in the order of the requests', async () => {
    const log = createTestLog();
    decide(log, 'a', 'deny', 1);
    decide(log, 'b', 'approve', 2);
    decide(log, 'c', 'deny', 9);
    decide(log, 'd', 'approve', 4, true);
    decide(log, 'e', 'deny', 5);
    recordPending(log, 'f').record('ApprovalExpired', { expiredAt: minute(60) });
    const model = await modelOf(log);
    expect(model.denialsInARow('default', agent, 5)).toEqual([minute(5), minute(9)]);
    expect(model.denialsInARow('default', agent, 1)).toEqual([minute(5)]);
    expect(model.denialsInARow('other', agent, 5)).toEqual([]);
    model.close();
  });

  it('lists the calls of an all-or-nothing batch by its id, within its principal and run', async () => {
    const log = createTestLog();
    const inBatch = { batchId: 'pay-all', batchMode: 'all-or-nothing' } as const;
    const requested = (name: string, of: object = {}, change: object = {}) => {
      const call = log.call(name, of);
      call.record('ToolCallRequested', { ...inBatch, ...change });
      call.record('ToolCallAllowed');
      return call;
    };
    const a = requested('a');
    requested('b', {}, { batchMode: 'independent' });
    requested('c', {}, { batchId: 'others' });
    requested('d', { runId: 'run-2' });
    requested('e', {}, { requestedBy: 'another' });
    requested('f', { tenant: 'other' });
    const g = requested('g');
    const model = await modelOf(log);
    const batch = { requestedBy: 'agent', runId: 'run-1', batchId: 'pay-all' };
    expect(model.callsOfBatch('default', batch, 10)).toEqual([a.callId, g.callId]);
    expect(model.callsOfBatch('default', batch, 1)).toEqual([a.callId]);
    model.close();
  });

  it('knows how many calls a run has, how many were denied, and when it began', async () => {
    const log = createTestLog();
    decide(log, 'a', 'deny', 1);
    const second = recordPending(log, 'b');
    recordPending(log, 'c', { runId: 'run-2' });
    const model = await modelOf(log);
    expect(model.factsOfRun('default', 'run-1')).toEqual({ calls: 2, denied: 1, startedAt: minute(0) });
    expect(model.factsOfRun('default', 'run-1', second.callId)).toMatchObject({ calls: 1, denied: 1 });
    expect(model.factsOfRun('default', 'run-9')).toEqual({ calls: 0, denied: 0, startedAt: null });
    expect(model.factsOfRun('other', 'run-1')).toEqual({ calls: 0, denied: 0, startedAt: null });
    model.close();
  });
});
