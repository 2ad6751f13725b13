import { describe, expect, it } from '@jest/globals';
import type { StoredEvent } from '@countersign/contracts';
import { approvalId, batched, minute, story } from '../testing/story.js';
import type { Story } from '../testing/story.js';
import { wordsOf } from '../testing/words-of.js';

type Members = Readonly<Record<string, unknown>>;

const asked = (question: Members): Story => story().policy().request().ask(question);
const described = (words: Members): Story =>
  asked({}).about('ApprovalDescribed', {
    ...{ approvalId: approvalId(), reason: 'because', description: null, describedBy: 'agent', describedAt: minute(1) },
    ...words,
  });
const cancelled = (by: Members, request: Members = {}): Story =>
  story()
    .policy()
    .request(request)
    .ask()
    .about('ToolCallCancelled', {
      ...{ approvalId: approvalId(), reason: 'no', cancelledBy: 'agent', cancelledAt: minute(1), ...by },
    });
/** The same log a week later: older questions do not say with which roles their principal asks. */
const later = ({ events }: Story): Story =>
  story(JSON.parse(JSON.stringify(events).replaceAll('2026-11-27', '2026-12-04')) as StoredEvent[]);
const said = (told: Story): readonly string[] => wordsOf(told).filter((word) => word.startsWith('rights'));
const other = { requestedBy: 'other', credential: 'token:other', roles: ['agent'] };
const notIts = ['rights: other is neither the requester of the call nor an admin'];

describe('a call belongs to its requester', () => {
  it.each<[string, Story]>([
    ['who has people asked', later(asked({}))],
    ['beside an admin, who has them asked', later(asked({ ...other, roles: ['admin'] }))],
    ['in logs without roles too', asked(other)],
    ['who adds words', later(described({}))],
    ['who cancels it', later(cancelled({}))],
    ['beside the service, which cancels it', later(cancelled({ cancelledBy: 'countersign' }))],
    ['or a person who denied a call of its batch', later(cancelled({ cancelledBy: 'other' }, batched))],
  ])('%s', (_, told) => {
    expect(said(told)).toEqual([]);
  });

  it.each<[string, Story]>([
    ['has people asked', later(asked(other))],
    ['has people asked, and does not say with which roles', later(asked({ requestedBy: 'other' }))],
    ['adds words', later(described({ describedBy: 'other' }))],
    ['cancels it', later(cancelled({ cancelledBy: 'other' }))],
  ])('and it is found where another one %s', (_, told) => {
    expect(said(told)).toEqual(notIts);
  });
});
