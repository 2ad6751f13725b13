import { expect, it } from '@jest/globals';
import { approvalId, approvedStory, minute, story } from '../testing/story.js';
import type { Story } from '../testing/story.js';
import { createLegality } from './legality.js';
import { readStored } from './stored-events.js';

/** The rules that are broken. */
function findingsOf({ events }: Story): readonly string[] {
  const legality = createLegality(new Map());
  return events.flatMap((stored) => {
    const event = readStored(stored);
    if ('unreadable' in event) throw new Error(event.unreadable);
    const ofCall = event.stream.startsWith('toolCall-');
    return ofCall
      ? legality.judge(event).illegal.map(({ rule }) => `${event.type} ${rule}`)
      : (legality.judge(event), []);
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

it.each([
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
  ['the outcome of an idempotent call is unknown', lose(idempotent), 'ExecutionOutcomeUnknown lease'],
  ['the outcome of a call that may be claimed again is unknown', lose(released), 'ExecutionOutcomeUnknown lease'],
])('without a restore it is a finding that %s', (_, log, finding) => {
  expect(findingsOf(log)).toEqual([finding]);
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
