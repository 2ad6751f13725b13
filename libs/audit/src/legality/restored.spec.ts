import { expect, it } from '@jest/globals';
import { approvalId, approvedStory, batchOf, grantId, minute, story, use, verdict } from '../testing/story.js';
import { aboutCall, idOf, requestCall } from '../testing/named-call.js';
import type { Story } from '../testing/story.js';
import { createLegality } from './legality.js';
import { readStored } from './stored-events.js';

/** The rules that are broken. */
function findingsOf({ events }: Story): readonly string[] {
  const legality = createLegality(new Map());
  return events.flatMap((stored) => {
    const event = readStored(stored);
    if ('unreadable' in event) throw new Error(event.unreadable);
    const { illegal } = legality.judge(event);
    // The story names neither the process nor the credential of a restore.
    return event.stream.startsWith('system-') ? [] : illegal.map(({ rule }) => `${event.type} ${rule}`);
  });
}

const restored = { reason: 'the disk was lost', checkpoint: null, why: 'restored', restoredAt: minute(4) };
const restore = (log: Story, by: object = { from: 9, to: 5 }): Story =>
  log.append('system-default-p1', 'LogRestored', { processId: 'p1', ...restored, ...by });
const lapse = (log: Story): Story => log.about('ApprovalLapsed', { approvalId: approvalId(), lapsedAt: minute(5) });
const lose = (log: Story): Story =>
  log.about('ExecutionOutcomeUnknown', { attempt: 1, reason: 'restored', unknownSince: minute(5) });
const idempotent = story().policy().request({ idempotent: true }).allow().claim();
const released = idempotent.about('ExecutionLapsed', { attempt: 1, lapsedAt: minute(4) });

const clientCall = story().policy().request({ clientExecuted: true }).allow();
const byRestore = { resolverId: 'countersign-restore', claimedBy: 'countersign-resolver', claimedAt: minute(5) };
const taken = (log: Story): Story => log.claim({ ...byRestore, leaseUntil: minute(6) });
const takenAway = lose(taken(restore(clientCall)));
const letRun = { status: 'retry', note: 'not run', reconciledBy: 'root', reconciledAt: minute(6) };
const report = (log: Story, by: object): Story =>
  log.about('ExecutionSucceeded', { reportedAt: minute(7), output: null, ...by });
const client = { attempt: null, executedBy: 'client', reportedBy: 'agent' };

it.each([
  ['its client may run a call no more', takenAway],
  [
    'its client runs a call that a person lets run again',
    report(takenAway.about('ExecutionReconciled', letRun), client),
  ],
  ['an approval ends early', lapse(restore(approvedStory()))],
  ['the outcome of an idempotent call is unknown', lose(restore(idempotent))],
  ['the outcome of a call that may be claimed again is unknown', lose(restore(released))],
])('after a backup was restored, %s', (_, log) => {
  expect(findingsOf(log)).toEqual([]);
});

it.each([
  ['an approval ends early', lapse(approvedStory()), 'ApprovalLapsed deadline'],
  [
    'an approval ends early, where a person went on',
    lapse(restore(approvedStory(), { principal: 'me' })),
    'ApprovalLapsed deadline',
  ],
  ['a call of a client is claimed', taken(clientCall), 'ExecutionClaimed claim'],
  ['the outcome of an idempotent call is unknown', lose(idempotent), 'ExecutionOutcomeUnknown lease'],
  ['the outcome of a call that may be claimed again is unknown', lose(released), 'ExecutionOutcomeUnknown lease'],
])('without a restore it is a finding that %s', (_, log, finding) => {
  expect(findingsOf(log)).toEqual([finding]);
});

it.each([
  ['by its client', client],
  ['in the name of the restore', { attempt: 1, executedBy: 'resolver', reportedBy: 'countersign-resolver' }],
])('a call that was taken from its client runs no more %s', (_, by) => {
  expect(findingsOf(report(takenAway, by))).toEqual(['ExecutionSucceeded outcome']);
});

it('an approval of after the restore does not end early', () => {
  const asked = restore(story().policy().request().ask());
  const given = { respondedAt: minute(6) };
  const approved = asked
    .respond('alice', given)
    .respond('bob', { ...given, resolution: 'approved', executeBy: minute(16) });
  const early = approved.about('ApprovalLapsed', { approvalId: approvalId(), lapsedAt: minute(7) });
  expect(findingsOf(early)).toEqual(['ApprovalLapsed deadline']);
});

const going = { claimedAt: minute(6), leaseUntil: minute(7) };
const restoring = { ...going, resolverId: 'countersign-restore', claimedBy: 'countersign-resolver' };
const allowed = story().policy().request().allow();
const output = { attempt: null, executedBy: 'client', reportedBy: 'agent', reportedAt: minute(6) };
const members = [idOf('a'), idOf('b')];
const step = { batchId: 'b', batchMode: 'all-or-nothing', batchCallIds: members };
const inBatch = ['a', 'b'].reduce(
  (log, name) =>
    aboutCall(requestCall(log, name, step), name, 'ToolCallAllowed', {
      ...{ verdict: verdict('allow'), allowedAt: minute(0) },
    }),
  story().policy(),
);
const begun = { callIds: members, requestedBy: 'agent', callId: idOf('a'), begunAt: minute(6) };
const begin = (log: Story): Story => log.append(batchOf(members), 'BatchBegun', begun);
const retry = { status: 'retry', note: 'it did not run', reconciledBy: 'alice' };
const retried = (log: Story, at: string): Story => log.about('ExecutionReconciled', { ...retry, reconciledAt: at });
const lost = lose(restore(allowed.claim()));
const given = story().policy().grant('GrantCreated');
const ready = story().policy().request();
const byGrant = { verdict: verdict('allow', { grantId }), allowedAt: minute(6) };
const queuedNow = { verdict: verdict('allow'), question: null, queuedAt: minute(0) };
const inTurn = story().policy().request({ batchMode: 'sequential' }).about('ToolCallQueued', queuedNow);
const wanted = { needsApproval: true, requestedAt: minute(6) };
const known = (log: Story): Story =>
  log.append('system-default-p1', 'LogEndAccepted', {
    ...{ processId: 'p1', from: 9, to: 5, by: 'root', reason: 'compared', acceptedAt: minute(5) },
  });

it.each([
  ['a call that was approved is claimed', restore(approvedStory()).claim(going), 'ExecutionClaimed claim'],
  ['a call that was allowed is claimed', restore(allowed).claim(going), 'ExecutionClaimed claim'],
  [
    'a call that could be claimed again is',
    restore(released).claim({ ...going, attempt: 2 }),
    'ExecutionClaimed claim',
  ],
  [
    'a person had said that a call may run again',
    restore(retried(lose(restore(allowed.claim())), minute(5))).claim({ ...going, attempt: 2 }),
    'ExecutionClaimed claim',
  ],
  [
    'a claim keeps its lease',
    restore(allowed.claim()).about('ExecutionClaimRenewed', {
      ...{ attempt: 1, leaseUntil: minute(9), renewedAt: minute(6) },
    }),
    'ExecutionClaimRenewed claim',
  ],
  [
    'the claim of a restore runs',
    restore(allowed)
      .claim(restoring)
      .report({ reportedBy: 'countersign-resolver', reportedAt: minute(6) }),
    'ExecutionSucceeded claim',
  ],
  [
    'a client runs its call',
    restore(clientCall).about('ExecutionSucceeded', { ...output, output: null }),
    'ExecutionSucceeded claim',
  ],
  ['a batch begins', begin(restore(inBatch)), 'BatchBegun batch'],
  ['a call gets its turn', restore(inTurn).allow({ allowedAt: minute(6) }), 'ToolCallAllowed claim'],
  ['a grant covers a call', restore(given).grant('GrantUsed', { ...use, usedAt: minute(6) }), 'GrantUsed grant'],
  [
    'a use of a grant that was taken in stock covers a call',
    restore(given.grant('GrantUsed', use)).request(wanted).allow(byGrant),
    'ToolCallAllowed grant',
  ],
  [
    'nobody is asked about a new call',
    restore(story().policy()).request({ requestedAt: minute(6) }),
    'ToolCallRequested request',
  ],
])('after a backup was restored it is a finding that %s', (_, log, finding) => {
  expect(findingsOf(log)).toEqual([finding]);
});

it.each([
  ['the claim of a restore says that the outcome is unknown', lose(restore(allowed).claim(restoring))],
  ['the claimer of a call of before reports', lost.report({ reportedAt: minute(6), late: 'outcome-unknown' })],
  ['a person says that a call may run again', retried(lost, minute(6)).claim({ ...going, attempt: 2 })],
  [
    'a call that was recorded before is allowed after',
    restore(ready)
      .allow({ allowedAt: minute(6) })
      .claim(going),
  ],
  ['people are asked about a new call', restore(story().policy()).request(wanted)],
  [
    'a new call is allowed when an admin knows of the loss',
    known(restore(story().policy())).request({ requestedAt: minute(6) }),
  ],
  [
    'a new grant covers a call',
    restore(story().policy())
      .grant('GrantCreated')
      .grant('GrantUsed', { ...use, usedAt: minute(6) }),
  ],
])('after a backup was restored it is no finding that %s', (_, log) => {
  expect(findingsOf(log)).toEqual([]);
});
