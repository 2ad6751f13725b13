import { describe, expect, it } from '@jest/globals';
import { maskByName, type JsonObject, type RequestToolCalls } from '@countersign/contracts';
import type { HeardEvent } from './heard-event.js';
import { createRecording } from './recording.js';

const args = { path: '/x', password: 'p' };
const body = (more: Partial<RequestToolCalls['calls'][number]> = {}): RequestToolCalls => ({
  runId: 'run-1',
  agentId: 'g',
  calls: [{ toolCallId: 'a', toolName: 't', arguments: args, ...more }],
});
const verdict = { outcome: 'allow', ruleId: 'r', policyVersion: 'v', automatic: true, why: [] };
const event = (type: string, revision: number, data: object, eventId = `${type}-${String(revision)}`): HeardEvent => ({
  eventId,
  type,
  callId: 'tc_a',
  runId: 'run-1',
  toolCallId: 'a',
  toolName: 't',
  agentId: 'g',
  revision,
  data: data as Record<string, unknown>,
});
const requested = (shown: JsonObject = maskByName(args), more: object = {}): HeardEvent =>
  event('ToolCallRequested', 0, {
    batchId: null,
    arguments: shown,
    actionDigest: `sha256:${'a'.repeat(64)}`,
    requestedAt: '2026-01-01T00:00:00.000Z',
    clientExecuted: false,
    ...more,
  });
const allowed = event('ToolCallAllowed', 1, { verdict, allowedAt: '2026-01-01T00:00:00.000Z' });

const heard = (asked: RequestToolCalls, ...events: readonly HeardEvent[]) => {
  const recording = createRecording(asked);
  for (const each of events) recording.hear(each);
  return recording;
};

describe('the recording of a request', () => {
  it('has the allowed calls with the arguments of the request, which the topic masks', () => {
    const recording = heard(body(), requested(), allowed, requested(), allowed);
    expect(recording.isComplete()).toBe(true);
    expect(recording.allowedCalls()).toMatchObject([
      { callId: 'tc_a', state: 'allowed', arguments: args, revision: 1, approval: null, verdict },
    ]);
  });

  it('is complete when the verdict about each call was heard', () => {
    const two = { ...body(), calls: [...body().calls, { toolCallId: 'b', toolName: 't', arguments: {} }] };
    expect(heard(two, requested(), allowed).isComplete()).toBe(false);
    expect(heard(body(), requested()).isComplete()).toBe(false);
    for (const type of ['ApprovalRequested', 'ToolCallBlocked'])
      expect(heard(body(), requested(), event(type, 1, {})).isComplete()).toBe(true);
  });

  it.each<[string, RequestToolCalls, readonly HeardEvent[]]>([
    ['an approval is needed', body(), [requested(), event('ApprovalRequested', 1, {})]],
    ['the arguments are others', body(), [requested({ path: '/y', password: 'p' }), allowed]],
    ['the agent is another one', { ...body(), agentId: 'h' }, [requested(), allowed]],
    ['the request wants an approval', body({ needsApproval: true }), [requested(), allowed]],
    ['the client runs the call', body(), [requested(maskByName(args), { clientExecuted: true }), allowed]],
    ['the request is missing', body(), [allowed]],
    ['a member is missing', body(), [requested(maskByName(args), { actionDigest: 7 }), allowed]],
    ['one of two requests is forged', body(), [{ ...requested(), eventId: 'forged' }, requested(), allowed]],
    ['one of two verdicts is forged', body(), [requested(), allowed, event('ApprovalRequested', 1, {})]],
    ['more has happened', body(), [requested(), allowed, event('ExecutionClaimed', 2, {})]],
  ])('leaves it to the ledger when %s', (_when, asked, events) => {
    expect(heard(asked, ...events).allowedCalls()).toBeUndefined();
  });
});
