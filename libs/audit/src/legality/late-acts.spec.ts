import { expect, it } from '@jest/globals';
import { approvalId, approvedStory, digest, grantId, minute, recordedAt, story } from '../testing/story.js';
import type { Story } from '../testing/story.js';
import { wordsOf } from '../testing/words-of.js';

const client = { attempt: null, executedBy: 'client', reportedBy: 'agent', reportedAt: minute(3), output: null };
const [policyInForce, request, ...votes] = approvedStory().events;
const ofClient = story([policyInForce, request].filter((event) => event !== undefined)).events.map((event) =>
  event === request ? { ...event, data: { ...(event.data as object), clientExecuted: true } } : event,
);
const output = (more: object = {}): Story =>
  story([...ofClient, ...votes]).about('ExecutionSucceeded', { ...client, ...more });
const pending = recordedAt(minute(0), story().policy().grant('GrantProposed', { risk: 'high' }));
const confirmed = pending.grant('GrantConfirmed', {
  ...{ grantId, confirmedBy: 'bob', via: 'api', confirmedAt: minute(3) },
});
const words = (told: Story): readonly string[] => wordsOf(told).filter((word) => word !== 'unrecorded-rights');

/** Each says that it happened at minute 3. */
it.each([
  ['the output of a client', output(), 12],
  ['the confirmation of a grant', confirmed, 30],
])('lists %s that was recorded after its end and says that it was before', (_, told, end) => {
  expect(words(recordedAt(minute(end), told))).not.toContain('past-end');
  expect(words(recordedAt(minute(end + 1), told))).toContain('past-end');
});

it('lists no output of a client that says that it is late', () => {
  const late = output({ late: 'execute-by-over', reportedAt: minute(13) });
  expect(words(late)).toEqual([]);
});

it('lets people be asked about a call sixteen times', () => {
  const rounds = (count: number): Story =>
    Array.from({ length: count }, (_, index) => index + 1).reduce((told, round) => {
      const [at, end] = [minute(round * 11), minute(round * 11 + 10)];
      const id = { approvalId: approvalId(round) };
      const asked = told.ask({ ...id, round, actionDigest: digest, requestedAt: at, expiresAt: end });
      return asked.about('ApprovalExpired', { ...id, expiredAt: end });
    }, story().policy().request());
  expect(words(rounds(16))).toEqual([]);
  expect(words(rounds(17))).toContain('approval: people are asked about the call more than 16 times');
});
