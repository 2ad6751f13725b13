import { describe, expect, it } from '@jest/globals';
import { aboutCall, approvalOf, digestOfCall, idOf, requestCall } from '../testing/named-call.js';
import { batched, batchOf, callId, minute, recordedAt, requirement, story, verdict } from '../testing/story.js';
import type { Story } from '../testing/story.js';
import { wordsOf } from '../testing/words-of.js';

type Members = Readonly<Record<string, unknown>>;

const one = { stages: [{ mode: 'quorum' as const, approve: 1, deny: 1, groups: ['ops'] }] };
const approve: Members = { resolution: 'approved', executeBy: minute(11) };
const free = story().policy().request().allow();
const asked = story().policy().request().ask({}, one);
const cancelled = (told: Story, callIds: readonly string[] = [callId]): Story =>
  told.append('runCancellation-x', 'RunCancelled', {
    ...{ runId: 'run', callIds, reason: 'stop', cancelledBy: 'root', cancelledAt: minute(0) },
  });
/** Another call of the run is denied, and its rule ends the run. */
const ended = (told: Story, more: Members = {}): Story => {
  const question = aboutCall(requestCall(told, 'x', more), 'x', 'ApprovalRequested', {
    ...{ approvalId: approvalOf('x'), round: 1, actionDigest: digestOfCall('x'), verdict: verdict('require') },
    ...{ requirement: { ...requirement, ...one, denyEndsRun: true }, reason: null, description: null },
    ...{ requestedBy: 'agent', requestedAt: minute(0), expiresAt: minute(10) },
  });
  return aboutCall(question, 'x', 'ApprovalResponded', {
    ...{ approvalId: approvalOf('x'), decision: { type: 'deny' }, proposal: 1, shown: null },
    ...{ actionDigest: digestOfCall('x'), reason: null, instruction: null, respondedBy: 'alice', onBehalfOf: null },
    ...{ groups: ['ops'], via: 'api', assurance: 'medium', automatic: false, respondedAt: minute(1) },
    ...{ resolution: 'denied', executeBy: null, endsRun: true },
  });
};
const stop: Members = { approvalId: null, reason: 'stop', cancelledBy: 'countersign', cancelledAt: minute(1) };
const claimOf = (told: Story, name: string): Story =>
  aboutCall(told, name, 'ExecutionClaimed', {
    ...{ attempt: 1, resolverId: 'r', claimedBy: 'worker', actionDigest: digestOfCall(name) },
    ...{ idempotencyKey: idOf(name), claimedAt: minute(3), leaseUntil: minute(4) },
  });
const later = (told: Story): Story =>
  claimOf(
    aboutCall(requestCall(told, 'b'), 'b', 'ToolCallAllowed', { verdict: verdict('allow'), allowedAt: minute(2) }),
    'b',
  );
const client = story().policy().request({ clientExecuted: true }).allow();
const lapsed = story()
  .policy()
  .request({ idempotent: true })
  .allow()
  .claim()
  .about('ExecutionLapsed', { attempt: 1, lapsedAt: minute(4) });
const member = (name: string, told: Story): Story =>
  aboutCall(requestCall(told, name, { ...batched, batchCallIds: ['a', 'b'].map(idOf) }), name, 'ToolCallAllowed', {
    verdict: verdict('allow'),
    allowedAt: minute(0),
  });
const begun = (told: Story): Story => {
  const callIds = ['a', 'b'].map(idOf);
  const data = { callIds, requestedBy: 'agent', callId: idOf('a'), begunAt: minute(1) };
  return told.append(batchOf(callIds), 'BatchBegun', data);
};
const batch = member('b', member('a', story().policy()));
const words = (told: Story): readonly string[] =>
  wordsOf(told).filter((word) => !['unrecorded-rights', 'other-time', 'off-time'].includes(word));

describe('a call whose run was cancelled, or ended by a denial', () => {
  it.each<readonly [string, Story]>([
    ['is cancelled', cancelled(free).about('ToolCallCancelled', stop)],
    ['runs on where it was claimed before', cancelled(free.claim()).report()],
    [
      'is claimed again where it was claimed before',
      cancelled(lapsed).claim({ attempt: 2, claimedAt: minute(5), leaseUntil: minute(6) }),
    ],
    ['is not named, and runs', cancelled(free, [idOf('x')]).claim()],
    ['is requested after the denial', later(ended(story().policy()))],
    ['is one of another principal', ended(free, { requestedBy: 'other' }).claim()],
    ['is in a batch that has begun', claimOf(cancelled(begun(batch), [idOf('b')]), 'b')],
  ])('%s', (_, told) => {
    expect(words(told)).toEqual([]);
  });

  it.each<readonly [string, Story]>([
    ['is claimed', cancelled(free).claim()],
    ['is approved', cancelled(asked).respond('alice', approve)],
    ['is run by its client', cancelled(client).report({ attempt: null, executedBy: 'client' })],
    ['begins with its batch', begun(cancelled(batch, [idOf('b')]))],
    ['is claimed after the denial', ended(free).claim()],
  ])('is listed where it %s', (_, told) => {
    expect(words(told)).toEqual(['run-over']);
  });
});

describe('a call inside one that was cancelled', () => {
  const inner = (told: Story, name: string, outer: string, more: Members = {}): Story => {
    const link = { callId: idOf(outer), agentId: 'agent', toolName: 'refund', runId: 'run', requestedBy: 'agent' };
    return requestCall(told, name, { chain: [link], ...more });
  };
  const open = requestCall(story().policy(), 'outer');
  const end = (told: Story): Story => aboutCall(told, 'outer', 'ToolCallCancelled', stop);
  const allow = (told: Story, name: string): Story =>
    aboutCall(told, name, 'ToolCallAllowed', { verdict: verdict('allow'), allowedAt: minute(1) });
  const after = (minutes: number, told: Story): Story =>
    recordedAt(minute(minutes), inner(told, 'inner', 'outer', { requestedAt: minute(minutes) }));

  it('is not listed where the other one goes on', () => {
    expect(words(claimOf(allow(inner(open, 'inner', 'outer'), 'inner'), 'inner'))).toEqual([]);
  });

  it('is listed where it is requested a moment after the end', () => {
    expect(words(after(15, end(open)))).toEqual(['inside-cancelled']);
  });

  it('is found where it is requested long after it', () => {
    expect(words(after(17, end(open)))).toEqual(['request: a call around it was cancelled long before']);
  });

  it('is listed where it begins to run after it', () => {
    expect(words(claimOf(end(allow(inner(open, 'inner', 'outer'), 'inner')), 'inner'))).toEqual(['run-over']);
  });

  it('is listed where one of its principal further out was cancelled', () => {
    const middle = inner(open, 'middle', 'outer');
    const chain = [open, middle].map(({ events }) => events.at(-1)?.data as { readonly callId: string });
    const links = chain.map(({ callId: id }) => ({
      ...{ callId: id, agentId: 'agent', toolName: 'refund', runId: 'run', requestedBy: 'agent' },
    }));
    const deepest = allow(requestCall(middle, 'inner', { chain: links }), 'inner');
    expect(words(claimOf(end(deepest), 'inner'))).toEqual(['run-over']);
  });
});
