import type { Requirement } from '@countersign/contracts';
import { createLegality } from '../legality/legality.js';
import { digestOf } from '../legality/digests.js';
import { readStored } from '../legality/stored-events.js';
import { grantId, minute, recordedAt, salt, story, use, verdict } from './story.js';
import type { Story } from './story.js';

type Members = Readonly<Record<string, unknown>>;

/** What a file with defaults alone asks. */
export const one: Requirement = {
  stages: [{ mode: 'quorum', approve: 1, deny: 1, groups: null }],
  ...{ fourEyes: true, allowedDecisions: ['approve', 'edit', 'deny', 'answer'], requireReason: [] },
  ...{ minAssurance: null, risk: null, expiresInMs: 3_600_000, executeByMs: 3_600_000, onTimeout: 'deny' },
  ...{ escalation: [], remindersMs: [] },
};
export const two: Partial<Requirement> = { stages: [{ mode: 'quorum', approve: 2, deny: 1, groups: ['ops'] }] };
export const quorum = { approve: 2, of: ['ops'] };

export const rule = (id: string, then: unknown, more: Members = {}): Members => ({ id, then, ...more });
export const pays = rule('pays', { require: { quorum } }, { match: { tools: ['re*'] } });
export const never = rule('never', { block: 'no' }, { match: { tools: ['ref?nd'] } });
export const small = rule('small', 'allow', { when: 'args.amount <= 50' });
/** Rules of which an expression decides. */
export const risky = rule(
  'risky',
  { require: { quorum: { approve: 2 }, risk: 'high', onTimeout: 'hold' } },
  { when: 'args.amount > 50' },
);

export interface Log {
  readonly told: Story;
  readonly cite: (ruleId: string, outcome?: 'allow' | 'require' | 'block', more?: Members) => Members;
}

/** A log in which a policy with these rules is in force. */
export function under(rules: readonly Members[], file: Members = {}, before = story()): Log {
  const content = { version: 1, rules, ...file };
  const policyVersion = digestOf(content);
  return {
    told: before.policy({ content, policyVersion }),
    cite: (ruleId, outcome = 'require', more = {}) => verdict(outcome, { ruleId, policyVersion, ...more }),
  };
}

const twoOfAny: Partial<Requirement> = {
  stages: [{ mode: 'quorum', approve: 2, deny: 1, groups: null }],
  ...{ risk: 'high', onTimeout: 'hold' },
};
const deadline = { expiresAt: minute(60) };

/** The call is asked about. */
export function asked(
  { told, cite }: Log,
  ruleId: string,
  required: Partial<Requirement> = {},
  request: Members = {},
): Story {
  const { expiresInMs } = { ...one, ...required };
  const expiresAt = expiresInMs === 'never' ? null : minute(expiresInMs / 60_000);
  return told.request(request).ask({ verdict: cite(ruleId), ...deadline, expiresAt }, { ...one, ...required });
}

/** The call is allowed. */
export function allowed({ told, cite }: Log, ruleId: string, request: Members = {}, more: Members = {}): Story {
  return told.request(request).allow({ verdict: cite(ruleId, 'allow', more) });
}

export function blocked({ told, cite }: Log, ruleId: string): Story {
  const data = { verdict: cite(ruleId, 'block'), reason: 'no', blockedAt: minute(0) };
  return told.request().about('ToolCallBlocked', data);
}

/** A grant with these terms covers the call. */
export function covered({ told, cite }: Log, ruleId: string, terms: Members = {}): Story {
  const granted = told.grant('GrantCreated', terms).grant('GrantUsed', use);
  return granted.request().allow({ verdict: cite(ruleId, 'allow', { grantId }) });
}

/** A person edits the call, as a policy judges that: the one in force, unless another one cites. */
export function edited(
  log: Log,
  ruleId: string,
  requirement: Requirement | null = null,
  cite: Log['cite'] = log.cite,
): Story {
  return editAs(asked(log, 'risky', twoOfAny), cite(ruleId), requirement);
}

/** A person edits the call, which asks for this as well; null: for no more than the request. */
export function editAs(told: Story, byVerdict: Members, requirement: Requirement | null = null): Story {
  const decision = {
    ...{ type: 'edit', arguments: { amount: 1 }, sensitive: [], salt, verdict: byVerdict },
    ...{ requirement, clock: requirement === null ? null : { expiresAt: minute(61) } },
  };
  return told.edit('alice', { amount: 1 }, { decision });
}

/** The judge's words about the last event. */
export function wordsOf({ events }: Story): readonly string[] {
  const legality = createLegality(new Map());
  const judgements = events.map((stored) => {
    const event = readStored(stored);
    return 'unreadable' in event ? legality.setAside(stored) : legality.judge(event);
  });
  const early = judgements.slice(0, -1).flatMap(({ illegal }) => illegal);
  const { illegal = [], unproven = [] } = judgements.at(-1) ?? {};
  return [
    ...[...early, ...illegal].map(({ rule: broken, detail }) => `${broken}: ${detail}`),
    ...unproven.filter((what) => what !== 'unrecorded-rights'),
  ];
}

/** One policy after the other: the first allows what the second asks about. */
export const lax = under([rule('pays', 'allow')]);
export const strict = under([pays], {}, lax.told);
/** The call is allowed by the policy before the last one, this many minutes after that one came in force. */
export const byEarlier = (minutes: number): Story =>
  recordedAt(minute(minutes - 9), strict.told.request().allow({ verdict: lax.cite('pays', 'allow') }));
