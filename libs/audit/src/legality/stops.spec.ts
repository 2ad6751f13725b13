import { describe, expect, it } from '@jest/globals';
import { aboutCall, digestOfCall, idOf, requestCall } from '../testing/named-call.js';
import { approvalId, batchOf, minute, recordedAt, story, verdict } from '../testing/story.js';
import type { Story } from '../testing/story.js';
import { createLegality } from './legality.js';
import { readStored } from './stored-events.js';

/** The rules that are broken, and with `isListed` what is not proven, by event. */
function findingsOf({ events }: Story, isListed = false): readonly string[] {
  const legality = createLegality(new Map());
  return events.flatMap((stored) => {
    const event = readStored(stored);
    if ('unreadable' in event) throw new Error(event.unreadable);
    const { illegal, unproven } = legality.judge(event);
    return [...illegal.map(({ rule }) => rule), ...(isListed ? unproven : [])].map((word) => `${event.type} ${word}`);
  });
}

/** What is said of stops and of what they hold back. */
function saidOf(log: Story): readonly string[] {
  return findingsOf(log, true).filter((word) => /^Stop\w+ (?!no-credential|unrecorded)|stop/.test(word));
}

const everything = { tenant: null, agentId: null, toolName: null };
const stop = (log: Story, scope = {}, at = minute(1), more = {}): Story =>
  recordedAt(
    at,
    log.append('system-default-stops', 'StopDeclared', {
      ...{ stopId: 'stop_1', scope: { ...everything, ...scope }, reason: 'why', declaredBy: 'root', declaredAt: at },
      ...more,
    }),
  );
const lift = (log: Story, more = {}): Story =>
  recordedAt(
    minute(2),
    log.append('system-default-stops', 'StopLifted', {
      ...{ stopId: 'stop_1', reason: 'mended', callIds: [], liftedBy: 'root', liftedAt: minute(2) },
      ...more,
    }),
  );
const allowed = story().policy().request().allow();
const asked = story().policy().request().ask();
const { agentId, toolName } = (asked.events.find(({ type }) => type === 'ToolCallRequested')?.data ?? {}) as {
  readonly agentId: string;
  readonly toolName: string;
};
const ofClient = story().policy().request({ clientExecuted: true }).allow();
const output = { attempt: null, executedBy: 'client', reportedBy: 'agent', reportedAt: minute(3), output: null };
const members = [idOf('a'), idOf('b')];
const step = { batchId: 'b', batchMode: 'all-or-nothing', batchCallIds: members };
const inBatch = ['a', 'b'].reduce(
  (log, name) =>
    aboutCall(requestCall(log, name, step), name, 'ToolCallAllowed', {
      ...{ verdict: verdict('allow'), allowedAt: minute(0) },
    }),
  story().policy(),
);
const silent = story().policy().request().ask({}, { onTimeout: 'allow' });
const bySilence = {
  ...{ automatic: true, via: 'policy', groups: [], assurance: 'low', respondedAt: minute(10) },
  ...{ resolution: 'approved', executeBy: minute(20) },
};
const renewed = { attempt: 1, leaseUntil: minute(9), renewedAt: minute(3) };
const claimed = allowed.claim({ claimedAt: minute(0), leaseUntil: minute(4) });

describe('a call that a person has stopped', () => {
  it.each([
    ['is claimed', stop(allowed).claim(), ['ExecutionClaimed stop']],
    ['is claimed, by the name of its agent', stop(allowed, { agentId }).claim(), ['ExecutionClaimed stop']],
    ['is claimed, by the name of its tool', stop(allowed, { toolName }).claim(), ['ExecutionClaimed stop']],
    ['keeps its lease', stop(claimed).about('ExecutionClaimRenewed', renewed), ['ExecutionClaimRenewed stop']],
    ['is approved', stop(asked).respond('ann', { respondedAt: minute(3) }), ['ApprovalResponded stop']],
  ])('%s: a finding', (_, log, findings) => {
    expect(findingsOf(log)).toEqual(findings);
  });

  it.each([
    ['was claimed before', stop(claimed)],
    [
      'was claimed within a second of it',
      stop(allowed, {}, new Date(Date.parse(minute(3)) - 900).toISOString()).claim(),
    ],
    ['is claimed when the stop is lifted', lift(stop(allowed)).claim()],
    ['is of another agent', stop(allowed, { agentId: 'nobody-*' }).claim()],
    ['is of another tool', stop(allowed, { toolName: 'nothing' }).claim()],
    [
      'is denied',
      stop(asked).respond('ann', { decision: { type: 'deny' }, resolution: 'denied', respondedAt: minute(3) }),
    ],
  ])('%s: no finding', (_, log) => {
    expect(findingsOf(log)).toEqual([]);
  });

  describe('by a restore, which ends its right to run with a claim,', () => {
    const begun = { resolverId: 'countersign-restore', claimedBy: 'countersign-resolver' };
    const restored = (log: Story): Story =>
      log.append('system-default-p1', 'LogRestored', {
        ...{ processId: 'p1', reason: 'the disk was lost', checkpoint: null, why: 'restored', restoredAt: minute(2) },
        ...{ from: 9, to: 4 },
      });
    const lost = { attempt: 1, reason: 'restored', unknownSince: minute(3) };
    const ended = restored(stop(allowed)).claim(begun).about('ExecutionOutcomeUnknown', lost);

    it('is no finding', () => {
      expect(findingsOf(ended)).toEqual([]);
    });

    it('is no finding where its batch had begun', () => {
      const batch = { callIds: members, requestedBy: 'agent', callId: idOf('a'), begunAt: minute(0.5) };
      const log = restored(stop(inBatch.append(batchOf(members), 'BatchBegun', batch)));
      const committed = aboutCall(log, 'a', 'ToolCallCommitted', { approvalId: null, committedAt: minute(3) });
      const claim = { ...begun, attempt: 1, actionDigest: digestOfCall('a'), idempotencyKey: idOf('a') };
      const times = { claimedAt: minute(4), leaseUntil: minute(5) };
      expect(findingsOf(aboutCall(committed, 'a', 'ExecutionClaimed', { ...claim, ...times }))).toEqual([]);
    });

    it.each([
      ['was not restored', stop(allowed).claim(begun), 'ExecutionClaimed stop'],
      [
        'is claimed by another program',
        restored(stop(allowed)).claim({ resolverId: begun.resolverId }),
        'ExecutionClaimed stop',
      ],
      ['is claimed to run', restored(stop(allowed)).claim({ claimedBy: begun.claimedBy }), 'ExecutionClaimed stop'],
      [
        'is of after the restore',
        restored(stop(story().policy()))
          .request({ requestedAt: minute(19) })
          .allow({ allowedAt: minute(20) })
          .claim({ ...begun, claimedAt: minute(21), leaseUntil: minute(22) }),
        'ExecutionClaimed stop',
      ],
      ['has run', ended.report({ reportedBy: begun.claimedBy, late: 'outcome-unknown' }), 'ExecutionSucceeded stop'],
    ])('is a finding where it %s', (_, log, finding) => {
      expect(findingsOf(log)).toContain(finding);
    });
  });

  it.each([
    ['its client', stop(ofClient).about('ExecutionSucceeded', output), ['ExecutionSucceeded stop']],
    ['a request', stop(story().policy()).request({ requestedAt: minute(3) }), ['ToolCallRequested stop']],
    ['a verdict', stop(story().policy().request()).allow({ allowedAt: minute(3) }), ['ToolCallAllowed stop']],
    [
      'a question',
      stop(allowed).ask({ requestedAt: minute(3), expiresAt: minute(13) }),
      ['ApprovalRequested under-stop'],
    ],
    [
      'the end of its time',
      stop(asked).about('ApprovalExpired', { approvalId: approvalId(), expiredAt: minute(10) }),
      ['ApprovalExpired under-stop'],
    ],
    [
      'the begin of its batch',
      stop(inBatch).append(batchOf(members), 'BatchBegun', {
        ...{ callIds: members, requestedBy: 'agent', callId: idOf('a'), begunAt: minute(3) },
      }),
      ['BatchBegun under-stop'],
    ],
    ['silence that a stop interrupted', lift(stop(silent)).respond('policy', bySilence), ['ApprovalResponded stop']],
    [
      'silence about a question of after the stop',
      lift(stop(story().policy().request()))
        .ask({ requestedAt: minute(3), expiresAt: minute(13) }, { onTimeout: 'allow' })
        .respond('policy', { ...bySilence, respondedAt: minute(13), executeBy: minute(23) }),
      [],
    ],
    [
      'the question of a restore',
      stop(allowed)
        .append('system-default-p1', 'LogRestored', {
          ...{ processId: 'p1', reason: 'the disk was lost', checkpoint: null, why: 'restored', restoredAt: minute(2) },
          ...{ from: 9, to: 4 },
        })
        .ask({ requestedAt: minute(3), expiresAt: minute(13) }),
      [],
    ],
  ])('goes on by %s', (_, log, said) => {
    expect(saidOf(log)).toEqual(said);
  });

  describe('by a stop that still holds, and says a time before it,', () => {
    const at = minute(0.9);
    const late = (log: Story): Story => recordedAt(minute(3), log);
    const claimedLate = late(stop(allowed).claim({ claimedAt: at }));
    const renewedLate = late(stop(claimed).about('ExecutionClaimRenewed', { ...renewed, renewedAt: at }));

    it.each([
      ['a claim', claimedLate, ['ExecutionClaimed past-stop']],
      ['a renewal', renewedLate, ['ExecutionClaimRenewed past-stop']],
      ['an approval', late(stop(asked).respond('ann', { respondedAt: at })), ['ApprovalResponded past-stop']],
      ['its success', claimedLate.report(), ['ExecutionClaimed past-stop', 'ExecutionSucceeded stop']],
      [
        'its success when a lift let the claimer ask again',
        recordedAt(minute(4), lift(claimedLate)).report({ reportedAt: minute(3.9) }),
        ['ExecutionClaimed past-stop'],
      ],
      ['a claim of a moment after it', recordedAt(minute(1.05), stop(allowed).claim({ claimedAt: at })), []],
    ])('%s is listed, or found', (_, log, said) => {
      expect(saidOf(log)).toEqual(said);
    });
  });

  it.each([
    [
      'is declared again for nobody',
      stop(stop(allowed), { agentId: 'nobody' }, minute(2)).claim(),
      ['StopDeclared stop', 'ExecutionClaimed stop'],
    ],
    [
      'says that it begins in an hour',
      stop(allowed, {}, minute(1), { declaredAt: minute(61) }).claim(),
      ['StopDeclared time', 'ExecutionClaimed stop'],
    ],
    [
      'says that it begins in a minute',
      stop(allowed, {}, minute(1), { declaredAt: minute(2) }).claim({ claimedAt: minute(1.5) }),
      ['StopDeclared off-time', 'ExecutionClaimed stop'],
    ],
    ['says that it ends in an hour', lift(stop(allowed), { liftedAt: minute(62) }).claim(), ['StopLifted time']],
    ['is lifted, and was never declared', lift(allowed), ['StopLifted stop']],
    ['is lifted again', lift(lift(stop(allowed))), ['StopLifted stop']],
  ])('is found where its stop %s', (_, log, findings) => {
    expect(saidOf(log)).toEqual(findings);
  });

  it('is found only in the stream of the stops', () => {
    const elsewhere = allowed.append('system-default-p1', 'StopDeclared', {
      ...{ stopId: 'stop_1', scope: everything, reason: 'why', declaredBy: 'root', declaredAt: minute(1) },
    });
    expect(findingsOf(elsewhere)).toEqual(['StopDeclared stream']);
  });
});
