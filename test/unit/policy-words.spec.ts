import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { explainedCallSchema, requirementSchema } from '@countersign/contracts';
import { createPolicy, loadPolicy, toPolicyCall } from '@countersign/policy';
import { writtenKeys } from '@countersign/policy/testing';
import {
  defaultWords,
  matchWords,
  passkeyWords,
  quotaWords,
  recordedRequirementWords,
  requireWords,
  thenWords,
} from '@countersign/text';
import type { RecordedRequirement, WrittenQuotas, WrittenRequire, WrittenRule } from '@countersign/text';
import { z } from 'zod';

type Json = string | number | boolean | null | readonly Json[] | { readonly [key: string]: Json };

const hours = { zone: 'Europe/Paris', days: ['mon', 'fri'], from: '08:00', to: '18:00' };
const times = { expiresIn: '30m', executeBy: '15m', businessHours: hours };
const decisions = { requireReason: ['deny'], allowedDecisions: ['approve', 'deny'] };
const others = { ...times, ...decisions, fourEyes: true, minAssurance: 'medium', risk: 'low', reminders: ['10m'] };

/** Together they have every key of a `require`. */
const requires: readonly Json[] = [
  {
    ...{ stages: [{ quorum: { approve: 2, deny: 2, of: ['ops'] } }, { anyOf: ['ops'] }, { allOf: ['ops', 'law'] }] },
    ...{ ...others, batch: 'all-or-nothing', denyEndsRun: true, requireCheckedSchema: true, onTimeout: 'escalate' },
    escalation: [{ to: ['managers'], expiresIn: '20m' }],
  },
  { quorum: { approve: 2, deny: 2, of: ['ops'] }, onTimeout: 'allow', allowOnTimeout: 'i-understand' },
  { anyOf: ['ops'], batch: 'independent', requireSignature: true },
  { allOf: ['ops', 'law'], batch: 'any-asks-all' },
];

/** Parts of a policy file, each with its words. */
const parts: readonly (readonly [path: string, value: Json, words: (value: never) => unknown])[] = [
  ...requires.map((require) => ['rules.then.require', require, (one: WrittenRequire) => requireWords(one)] as const),
  ['rules.then', { block: 'never' }, (then: Exclude<WrittenRule['then'], string>) => thenWords({ then })],
  [
    'rules.match',
    { tools: ['pay_*'], agents: ['a'], labels: { env: 'prod' } },
    (match: NonNullable<WrittenRule['match']>) => matchWords({ match }),
  ],
  [
    'defaults',
    { ...times, onTimeout: 'hold', fourEyes: false, batch: 'sequential', allowedDecisions: ['approve', 'deny'] },
    (one: WrittenRequire) => requireWords(one),
  ],
  [
    'quotas',
    { pendingPerAgent: 3, deniedBeforeCoolDown: 2, coolDown: '5m', coalesceIdentical: true },
    (one: WrittenQuotas) => quotaWords(one),
  ],
  [
    'autoApprovedTools',
    { tools: ['read_*'], agents: ['a-*'], labels: { workflow: 'reports' } },
    (match: NonNullable<WrittenRule['match']>) => matchWords({ match }),
  ],
  ['passkeys', { secondPerson: true }, (one: { readonly secondPerson: boolean }) => passkeyWords(one)],
];

/** Shown as they are: the rule's own columns, the rows of the lists, and the table of people. */
const shownAsTheyAre = [
  ...['version', 'tenant', 'default', 'autoApprovedTools', 'requireApprovalTools', 'rules.id', 'rules.when'],
  ...['approvers.id', 'approvers.groups', 'approvers.identities.slack', 'approvers.identities.telegram'],
  ...[
    'approvers.identities.teams',
    'approvers.identities.email',
    'approvers.identities.frontEnds',
    'approvers.delegates.to',
    'approvers.delegates.from',
    'approvers.delegates.until',
  ],
];

function isList(value: Json): value is readonly Json[] {
  return Array.isArray(value);
}

/** The values that are like `value`, each with one member changed, by the path of that member. */
function changesOf(value: Json): readonly (readonly [path: string, changed: Json])[] {
  if (typeof value === 'string') return [['', `${value}0`]];
  if (typeof value === 'number') return [['', value + 1]];
  if (typeof value === 'boolean') return [['', !value]];
  if (value === null) return [['', 'other']];
  if (isList(value)) {
    return value.flatMap((item, at) =>
      changesOf(item).map(([path, changed]) => [path, value.with(at, changed)] as const),
    );
  }
  return Object.entries(value).flatMap(([key, member]) =>
    changesOf(member).map(
      ([path, changed]) => [path === '' ? key : `${key}.${path}`, { ...value, [key]: changed }] as const,
    ),
  );
}

/** The keys whose change, or whose absence, changes the words. */
function keysInWords(value: Json, words: (value: never) => unknown): readonly string[] {
  const before = JSON.stringify(words(value as never));
  const absent = Object.entries(value as object).map(
    ([key]) => [key, Object.fromEntries(Object.entries(value as object).filter(([other]) => other !== key))] as const,
  );
  return [...changesOf(value), ...absent].flatMap(([path, changed]) =>
    JSON.stringify(words(changed as never)) === before ? [] : [path],
  );
}

const inWords = new Set([
  ...shownAsTheyAre,
  ...parts.flatMap(([at, value, words]) =>
    keysInWords(value, words).map((path) =>
      at.endsWith('match') ? `${at}.${path.split('.')[0] ?? ''}` : `${at}.${path}`,
    ),
  ),
]);

describe('the words of a policy', () => {
  it('name every key of the file', () => {
    expect(writtenKeys().filter((key) => !inWords.has(key))).toEqual([]);
  });

  it('lack a key that the file gets, until it has words', () => {
    const later = z.object({
      rules: z.array(z.object({ then: z.object({ require: z.object({ mood: z.string() }) }) })),
    });
    expect(writtenKeys(later).filter((key) => !inWords.has(key))).toEqual(['rules.then.require.mood']);
  });

  it('are of files that can be used', () => {
    for (const require of requires) {
      const rules = [{ id: 'a', then: { require } }];
      expect(loadPolicy('p.json', JSON.stringify({ version: 1, rules })).rules).toHaveLength(1);
    }
  });

  it('of the defaults are what is asked where the file says nothing', () => {
    const policy = createPolicy(loadPolicy('p.yaml', 'version: 1'));
    const { requirement } = policy.explain(toPolicyCall(explainedCallSchema.parse({ toolName: 'pay' })), 0).judgement;
    expect(defaultWords()).toEqual(recordedRequirementWords(requirement));
  });

  it('are in the guide', () => {
    const guide = readFileSync(join(import.meta.dirname, '../../docs/policy.md'), 'utf8');
    const names = new Set(writtenKeys().flatMap((path) => path.split('.')));
    expect([...names].filter((name) => !new RegExp(`\\b${name}\\b`).test(guide))).toEqual([]);
  });
});

describe('the words of a recorded requirement', () => {
  const requirement: RecordedRequirement = {
    stages: [
      { mode: 'quorum', approve: 2, deny: 2, groups: ['ops'] },
      { mode: 'all-of', approve: 2, deny: 1, groups: ['ops', 'law'] },
    ],
    ...{ fourEyes: true, allowedDecisions: ['approve', 'deny'], requireReason: ['deny'], minAssurance: 'medium' },
    ...{ risk: 'high', expiresInMs: 1_800_000, executeByMs: 900_000, onTimeout: 'escalate', remindersMs: [600_000] },
    escalation: [{ to: ['managers'], expiresInMs: 1_200_000 }],
    ...{ businessHours: hours, batch: 'all-or-nothing', denyEndsRun: true, requireCheckedSchema: true },
    requireSignature: true,
  };

  it('name every member', () => {
    expect(requirementSchema.parse(requirement)).toEqual(requirement);
    const named = new Set(
      Object.keys(requirementSchema.shape).filter((key) => {
        const { [key]: _left, ...others } = { ...requirement, ...emptied } as Record<string, unknown>;
        const changed = { ...others, [key]: emptied[key as keyof typeof emptied] } as unknown as RecordedRequirement;
        const full = { ...changed, [key]: requirement[key as keyof RecordedRequirement] };
        return recordedRequirementWords(changed).join() !== recordedRequirementWords(full).join();
      }),
    );
    expect([...named]).toEqual(Object.keys(requirementSchema.shape));
  });

  it('are these', () => {
    expect(recordedRequirementWords(requirement).join('; ')).toBe(
      '2 approvers of ops (2 to deny), then one of each: ops, law; within 30 min; reminders after 10 min; ' +
        'then managers within 20 min; without an answer in time: others are asked; must run within 15 min after; ' +
        'times count mon fri 08:00 to 18:00 Europe/Paris; not the requester; possible: approve, deny; ' +
        'reason needed to deny; at least medium assurance of the person; high risk; ' +
        'the calls of the step run together or not at all; a denial ends the run; schemas are checked whole; signed with a passkey',
    );
  });

  /** The plainest requirement. */
  const emptied = {
    stages: [{ mode: 'quorum', approve: 1, deny: 1, groups: null }],
    ...{ fourEyes: false, allowedDecisions: ['approve'], requireReason: [], minAssurance: null, risk: null },
    ...{ expiresInMs: 'never', executeByMs: 'never', onTimeout: 'deny', escalation: [], remindersMs: [] },
    ...{ businessHours: undefined, batch: undefined, denyEndsRun: undefined, requireCheckedSchema: undefined },
    requireSignature: undefined,
  };
});
