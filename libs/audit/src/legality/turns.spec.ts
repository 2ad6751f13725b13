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
const byRuleNow = { verdict: verdict('require', { ruleId: 'now' }) };
const now = { ...words, ...byRuleNow };
const stage = { mode: 'quorum' as const, approve: 1, deny: 1, groups: ['security'] };
const more = { ...requirement, stages: [...requirement.stages, stage] };
const others = { ...requirement, stages: [stage] };
const strict = { ...more, allowedDecisions: ['approve' as const, 'deny' as const], requireReason: ['deny' as const] };
const expired = queued()
  .ask(words)
  .about('ApprovalExpired', { approvalId: approvalId(), expiredAt: minute(12) });
const blockedNow = (log: Story): Story =>
  log.about('ToolCallBlocked', { verdict: verdict('block'), reason: 'no', blockedAt: minute(1) });
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
    ['is asked about at its turn by a policy that asks more', queued().ask({ ...words, ...byRuleNow }, more)],
    ['is asked about at its turn by a policy that asks at all', toBeAllowed.ask({ ...words, ...byRuleNow })],
    ['is blocked at its turn by a policy that forbids it', blockedNow(queued())],
    ['is blocked at its turn although it was to be allowed', blockedNow(toBeAllowed)],
    ['is blocked at its second turn', blockedNow(queued({ round: 2, approvalId: approvalId(2) }, expired))],
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
    ['is asked about by a rule that asks fewer', 'turn', queued().ask({ ...words, ...byRuleNow }, fewer)],
    ['may be edited at its turn, and not before', 'turn', queued({ requirement: strict }).ask(now, more)],
    ['is approved by silence at its turn, and not before', 'turn', queued().ask(now, { ...more, onTimeout: 'allow' })],
    ['is asked for longer at its turn', 'turn', queued().ask(now, { ...more, expiresInMs: 7_200_000 })],
    ['may be decided by others at its turn', 'turn', queued().ask(now, others)],
    [
      'needs no reason at its turn',
      'turn',
      queued({ requirement: strict }).ask(now, { ...strict, requireReason: [], risk: 'high' }),
    ],
    ['is asked about for another principal by a rule', 'turn', toBeAllowed.ask({ ...now, requestedBy: 'mallory' })],
    ['is allowed at its turn, and was to be asked about', 'turn', queued().allow()],
  ])('is found where it %s', (_, rule, log) => {
    expect(findingsOf(log)).toEqual([`${String(log.events.length)} ${rule}`]);
  });
});
