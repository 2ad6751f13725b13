import { expect, it } from '@jest/globals';
import type { StoredEvent } from '@countersign/contracts';
import { digestOfEdit, minute, requirement, story } from '../testing/story.js';
import type { Story } from '../testing/story.js';
import { createLegality } from './legality.js';
import { readStored } from './stored-events.js';

function findingsOf({ events }: Story): readonly string[] {
  const legality = createLegality(new Map());
  return events.flatMap((stored) => {
    const event = readStored(stored);
    if ('unreadable' in event) throw new Error(`${stored.eventId}: ${event.unreadable}`);
    return legality.judge(event).illegal.map(({ rule }) => rule);
  });
}

const asked = story()
  .policy()
  .request()
  .ask({}, { allowedDecisions: ['approve', 'edit', 'deny', 'answer'] });
const answer = (told: Story, by: string, output: unknown, proposal: number, more: object = {}): Story =>
  told.respond(by, { decision: { type: 'answer', output }, proposal, ...more });
const approving = { resolution: 'approved', respondedAt: minute(2), executeBy: minute(12) };
const answered = answer(asked, 'alice', 'paid', 2);
const edited = asked.edit('alice', { amount: 1 });

it.each<readonly [name: string, told: Story]>([
  ['an answer', answered],
  ['an equal answer, which is a vote', answer(answered, 'bob', 'paid', 2, { resolution: 'approved' })],
  ['an edit', edited],
  ['an equal edit, which is a vote', edited.edit('bob', { amount: 1 }, { ...approving, proposal: 2 })],
  [
    'an equal answer that hides values',
    answer(answered, 'bob', 'paid', 3, { decision: { type: 'answer', output: 'paid', salt: '0'.repeat(32) } }),
  ],
])('has no finding about %s', (_, told) => {
  expect(findingsOf(told)).toEqual([]);
});

// Attack: the owner of the log counts what a person proposed in the place of the request as a "yes" to the request.
it.each<readonly [name: string, told: Story]>([
  ['an answer that is counted as a vote for the run', answer(asked, 'alice', 'paid', 1)],
  [
    'an answer that is counted as a vote for another answer',
    answer(answered, 'bob', 'never', 2, { resolution: 'approved' }),
  ],
  ['an answer that is counted as a vote for an edit', answer(edited, 'bob', 'paid', 2, { respondedAt: minute(2) })],
  ['an edit that is counted as a vote for the request', asked.edit('alice', { amount: 1 }, { proposal: 1 })],
  [
    'an edit that is counted as a vote for another edit',
    edited.edit('bob', { amount: 2 }, { ...approving, proposal: 2 }),
  ],
  [
    'an edit that is counted as a vote for an answer',
    answered.edit('bob', { amount: 1 }, { resolution: 'approved', proposal: 2 }),
  ],
  [
    'an equal edit that is made another proposal',
    edited.edit('bob', { amount: 1 }, { proposal: 3, actionDigest: digestOfEdit({ amount: 1 }) }),
  ],
])('finds %s', (_, told) => {
  expect(findingsOf(told)).toEqual(['proposal']);
});

const two = story()
  .policy()
  .request()
  .ask({}, { stages: [{ mode: 'quorum', approve: 2, deny: 2, groups: ['ops'] }] });
const refused = two.respond('carol', { decision: { type: 'deny' } });
const askedAgain = refused.edit('alice', { amount: 1 });
const yes = { proposal: 2, actionDigest: digestOfEdit({ amount: 1 }), respondedAt: minute(2) };

it('lets a person replace their own refusal of an earlier proposal', () => {
  expect(findingsOf(askedAgain.respond('carol', { ...yes, resolution: 'approved', executeBy: minute(12) }))).toEqual(
    [],
  );
});

// Attack: carol refuses, the call is edited, and her delegate agrees in her place.
it('finds a delegate who replaces the refusal of the person whom they represent', () => {
  const byDelegate = askedAgain.respond('dan', { ...yes, onBehalfOf: 'carol' });
  expect(findingsOf(byDelegate)).toEqual(['vote']);
});

it.each([
  ['an answer', (told: Story, more: object) => answer(told, 'bob', 'paid', 3, more)],
  ['an edit', (told: Story, more: object) => told.edit('bob', { amount: 2 }, { ...more, proposal: 3 })],
] as const)('finds %s in the place of what its person is not sure enough for', (_, propose) => {
  const [last] = edited.events.slice(-1) as [StoredEvent];
  const { decision: plain } = last.data as { readonly decision: object };
  const allowedDecisions = ['approve', 'edit', 'deny', 'answer'];
  const stricter = { ...requirement, allowedDecisions, minAssurance: 'medium', executeByMs: 60_000 };
  const decision = { ...plain, requirement: stricter, clock: { expiresAt: minute(11) } };
  const proposed = asked.edit('alice', { amount: 1 }, { decision });
  const at = (day: string, { events }: Story): Story =>
    story(JSON.parse(JSON.stringify(events).replaceAll('2026-11-27', day)) as typeof events);
  const by = (assurance: string): Story => propose(proposed, { assurance, respondedAt: minute(2) });
  expect(findingsOf(at('2026-12-04', by('medium')))).toEqual([]);
  expect(findingsOf(at('2026-12-04', by('low')))).toEqual(['vote']);
  // Versions before it compared the new proposal alone.
  expect(findingsOf(by('low'))).toEqual([]);
});
