import { describe, expect, it } from '@jest/globals';
import { minute, story } from '../testing/story.js';
import type { Story } from '../testing/story.js';
import { createLegality } from './legality.js';
import { readStored } from './stored-events.js';

/** The rules that are broken. */
function findingsOf({ events }: Story): readonly string[] {
  const legality = createLegality(new Map());
  return events.flatMap((stored) => {
    const event = readStored(stored);
    if ('unreadable' in event) throw new Error(event.unreadable);
    return legality.judge(event).illegal.map(({ rule }) => `${event.type} ${rule}`);
  });
}

const everything = { tenant: null, agentId: null, toolName: null };
const stop = (log: Story, scope = {}, at = minute(1)): Story =>
  log.append('system-default-stops', 'StopDeclared', {
    ...{ stopId: 'stop_1', scope: { ...everything, ...scope }, reason: 'why', declaredBy: 'root', declaredAt: at },
  });
const lift = (log: Story): Story =>
  log.append('system-default-stops', 'StopLifted', {
    ...{ stopId: 'stop_1', reason: 'mended', callIds: [], liftedBy: 'root', liftedAt: minute(2) },
  });
const allowed = story().policy().request().allow();
const asked = story().policy().request().ask();
const { agentId, toolName } = (asked.events.find(({ type }) => type === 'ToolCallRequested')?.data ?? {}) as {
  readonly agentId: string;
  readonly toolName: string;
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
          .request()
          .allow({ allowedAt: minute(20) })
          .claim({ ...begun, claimedAt: minute(21), leaseUntil: minute(22) }),
        'ExecutionClaimed stop',
      ],
      ['has run', ended.report({ reportedBy: begun.claimedBy, late: 'outcome-unknown' }), 'ExecutionSucceeded stop'],
    ])('is a finding where it %s', (_, log, finding) => {
      expect(findingsOf(log)).toContain(finding);
    });
  });

  it('is found only in the stream of the stops', () => {
    const elsewhere = allowed.append('system-default-p1', 'StopDeclared', {
      ...{ stopId: 'stop_1', scope: everything, reason: 'why', declaredBy: 'root', declaredAt: minute(1) },
    });
    expect(findingsOf(elsewhere)).toEqual(['StopDeclared stream']);
  });
});
