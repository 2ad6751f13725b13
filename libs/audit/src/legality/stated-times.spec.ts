import { describe, expect, it } from '@jest/globals';
import type { EventData } from '@countersign/contracts';
import { approvedStory, identity, minute, recordedAt, story } from '../testing/story.js';
import type { Story } from '../testing/story.js';
import { wordsOf } from '../testing/words-of.js';
import { derivedName, digestOfAction } from './digests.js';

type Requested = EventData<'ToolCallRequested'>;

const seconds = (minutes: number, more: number): string =>
  new Date(Date.parse(minute(minutes)) + more * 1000).toISOString();
const words = (told: Story): readonly string[] =>
  [...new Set(wordsOf(told))].map((word) => word.replace(/:.*/, '')).filter((word) => word !== 'unrecorded-rights');
const allowed = story().policy().request().allow();
const asked = story().policy().request().ask();
/** The request says a time five minutes before its record, and the question the time of its record. */
const lateRequest = recordedAt(minute(5), story().policy().request()).ask(
  { requestedAt: minute(5) },
  { expiresInMs: 300_000 },
);
const lateUntil = { leaseUntil: minute(40) };

describe('the time that an event of a call says', () => {
  it.each<readonly [string, Story, readonly string[]]>([
    ['is that of its record', allowed.claim(), []],
    ['of a vote is of the deadline', recordedAt(seconds(10, 2), asked.respond('alice')), []],
    [
      'of a vote is before the deadline, which its record is not',
      recordedAt(seconds(10, 3), asked.respond('alice')),
      ['past-end'],
    ],
    [
      'of a claim is in the right to run, and its record is not',
      recordedAt(seconds(12, 3), approvedStory().claim()),
      ['past-end'],
    ],
    [
      'of a vote is before the deadline, which its record is not, as that of the request is long before its record',
      recordedAt(seconds(10, 3), lateRequest.respond('alice')),
      ['off-time', 'past-end'],
    ],
    [
      'of a request is three seconds before its record',
      recordedAt(seconds(0, 3), story().policy().request()),
      ['off-time'],
    ],
    ['is two seconds after its record', recordedAt(seconds(3, -2), allowed.claim()), []],
    ['is more than two seconds after its record', recordedAt(seconds(3, -3), allowed.claim()), ['off-time']],
    [
      'is 16 minutes after its record',
      recordedAt(minute(4), allowed.claim({ claimedAt: minute(20), ...lateUntil })),
      ['time'],
    ],
    ['is 16 minutes before its record', recordedAt(minute(19), allowed.claim()), ['other-time']],
    [
      'is before the record of the event before it',
      recordedAt(minute(5), allowed.claim().report({ reportedAt: minute(2) })),
      ['off-time'],
    ],
    [
      'is 16 minutes before the record of the event before it',
      recordedAt(minute(22), allowed.claim({ claimedAt: minute(20), ...lateUntil }).report({ reportedAt: minute(3) })),
      ['time', 'other-time'],
    ],
  ])('%s', (_, told, found) => {
    expect(words(told)).toEqual(found);
  });
});

describe('a lease', () => {
  const day = 24 * 60;

  it('is a day at most', () => {
    expect(words(allowed.claim({ leaseUntil: minute(3 + day) }))).toEqual([]);
    expect(words(allowed.claim({ leaseUntil: minute(4 + day) }))).toEqual(['lease']);
  });

  it('is a day at most from each renewal', () => {
    const renewed = (minutes: number): Story =>
      allowed.claim().about('ExecutionClaimRenewed', { attempt: 1, leaseUntil: minute(minutes), renewedAt: minute(3) });
    expect(words(renewed(3 + day))).toEqual([]);
    expect(words(renewed(4 + day))).toEqual(['lease']);
  });
});

describe('the number of a call in its run', () => {
  /** The log with the request of another call. */
  const otherOf = (told: Story, runId = 'run'): Story => {
    const id = derivedName('tc_', [identity.tenant, runId, 'other']);
    const facts = { ...(story().request().events[0]?.data as Requested), toolCallId: 'other', runId, callId: id };
    const data = {
      ...facts,
      requestedAt: minute(told.events.length > 1 ? 0 : -8),
      actionDigest: digestOfAction(facts, facts.arguments, facts.salt),
    };
    return told.append(`toolCall-${id}`, 'ToolCallRequested', data, { callId: id, runId });
  };
  const second = otherOf(story().policy()).request().allow();
  const claimed = (told: Story, n: number, of: number): readonly string[] => words(told.claim({ seq: { n, of } }));

  it.each<readonly [n: number, of: number, found: readonly string[]]>([
    [2, 2, []],
    [1, 2, ['claim']],
    [3, 3, ['claim']],
    [2, 3, ['claim']],
    [2, 1, ['claim']],
  ])('is %d of %d: %j', (n, of, found) => {
    expect(claimed(second, n, of)).toEqual(found);
  });

  it('may be lower by requests that are under way, which is said', () => {
    expect(claimed(otherOf(story().policy().request().allow()), 1, 1)).toEqual(['place-in-run']);
  });

  it('does not count the calls of other runs', () => {
    expect(claimed(otherOf(story().policy(), 'another').request().allow(), 1, 1)).toEqual([]);
  });
});
