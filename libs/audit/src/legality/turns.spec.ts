import { describe, expect, it } from '@jest/globals';
import { approvalId, batched, callId, minute, requirement, story, verdict } from '../testing/story.js';
import type { Story } from '../testing/story.js';
import { createLegality } from './legality.js';
import { readStored } from './stored-events.js';

/** What the judge finds, as positions of events and the rules that they break. */
function findingsOf({ events }: Story): readonly string[] {
  const legality = createLegality(new Map());
  return events.flatMap((stored) => {
    const event = readStored(stored);
    if ('unreadable' in event) throw new Error(event.unreadable);
    return legality.judge(event).illegal.map(({ rule }) => `${String(stored.position)} ${rule}`);
  });
}

const sequential = story()
  .policy()
  .request({ ...batched, batchMode: 'sequential', batchCallIds: [callId] });
const asksNext = { approvalId: approvalId(), round: 1, requirement, requestedBy: 'agent' };
const words = { reason: 'because', description: null };
type Members = Readonly<Record<string, unknown>>;
const queued = (question: Members = {}, log = sequential, judged: Members = {}): Story =>
  log.about('ToolCallQueued', {
    verdict: verdict('require', judged),
    question: { ...asksNext, ...words, ...question },
    queuedAt: minute(0),
  });
const toBeAllowed = sequential.about('ToolCallQueued', {
  verdict: verdict('allow'),
  question: null,
  queuedAt: minute(0),
});
const fewer = { ...requirement, stages: [{ mode: 'quorum' as const, approve: 1, deny: 1, groups: ['ops'] }] };

describe('a call that waits for its turn', () => {
  it.each([
    ['is asked about as it was recorded with its place', queued().ask(words)],
    ['is allowed by the verdict that was recorded with its place', toBeAllowed.allow()],
    [
      'gets the words that its question lacks',
      queued({ description: 'more' }, queued()).ask({ ...words, description: 'more' }),
    ],
    ['is asked about where it was to be allowed', queued({}, toBeAllowed).ask(words)],
  ])('%s', (_, log) => {
    expect(findingsOf(log)).toEqual([]);
  });

  it.each([
    ['is asked of fewer people', 'turn', queued().ask(words, fewer)],
    ['is asked about with another reason', 'turn', queued().ask({ reason: 'harmless' })],
    ['is asked about with other words', 'turn', queued().ask({ ...words, description: 'harmless' })],
    ['is asked about for another principal', 'turn', queued().ask({ ...words, requestedBy: 'mallory' })],
    [
      'is asked about by another verdict',
      'turn',
      queued().ask({ ...words, verdict: verdict('require', { ruleId: 'other' }) }),
    ],
    ['is allowed by another verdict', 'turn', toBeAllowed.allow({ verdict: verdict('allow', { ruleId: 'other' }) })],
    ['takes a place again with fewer people', 'turn', queued({ requirement: fewer }, queued())],
    ['takes a place again with another verdict', 'turn', queued({}, queued(), { ruleId: 'other' })],
    ['takes a place again with other words', 'turn', queued({ reason: 'harmless' }, queued())],
    ['takes a place with another round', 'approval', queued({ round: 7 })],
    ['takes a place with another approval', 'approval', queued({ approvalId: approvalId(2) })],
  ])('is found where it %s', (_, rule, log) => {
    expect(findingsOf(log)).toEqual([`${String(log.events.length)} ${rule}`]);
  });
});
