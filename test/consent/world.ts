import type { Delegation, DeskPerson, Group, People, Policy, Rule } from './words.ts';

/** The people of every world. `amy@corp.example` is another principal, which can turn out to be amy. */
export const people: People = {
  amy: ['support'],
  'amy@corp.example': ['support'],
  ben: ['support'],
  cleo: ['support', 'security'],
  dan: ['security'],
  eve: ['managers'],
  fay: ['managers'],
};

/** The person whose token has a low assurance. */
export const unsure = 'amy@corp.example';

/**
 * Ben responds for dan until second 45, and amy for fay from second 20 on. A person of the front end responds for eve, and ben for that
 * person.
 */
export const delegations: readonly Delegation[] = [
  { from: 'dan', to: 'ben', begin: 0, end: 45 },
  { from: 'fay', to: 'amy', begin: 20, end: 3_600 },
  { from: 'eve', to: 'desk#lea', begin: 0, end: 60 },
  { from: 'desk#lea', to: 'ben', begin: 10, end: 3_600 },
];

/** The people of the front end. Kim is one person, however they are written. */
export const deskPeople: Readonly<Record<string, DeskPerson>> = {
  'desk#kim': { told: ['support'], filed: [], assurance: 'low' },
  'desk#Kim': { told: ['support'], filed: [], assurance: 'medium' },
  'desk#amy': { told: ['support'], filed: [], assurance: 'medium' },
  'desk#lea': { told: [], filed: ['security'], assurance: 'medium' },
};

/** Whether a principal is a person of the front end. */
export const isOfDesk = (principal: string): boolean => principal.startsWith('desk#');

/** The groups that the front end says a person has: never more than its token allows. */
export const toldOf = (principal: string, allowed: readonly Group[]): readonly Group[] =>
  (deskPeople[principal]?.told ?? []).filter((group) => allowed.includes(group));

/** In the place of an amount that is left out. */
export const leftOut = -1;

/** The moment at which the clock of every world stands first, in milliseconds since the epoch. */
export const startAt = Date.UTC(2030, 0, 1);

/** The run of a call. The first three are of one run. */
export const runOf = (call: number): number => (call <= 3 ? 1 : 2);

/** Whether a tool may run again with the same arguments, without harm. */
export const mayRunAgain = (call: number): boolean => call > 1;

/** Whether the client itself runs a call. */
export const isOfClient = (call: number): boolean => call === 3;

const one = (group: 'support' | 'managers' | 'security') => ({ groups: [group], approve: 1, deny: 1 });

/** Small amounts escalate, large ones need security; in between, silence approves what two people of support could. */
const silent: readonly Rule[] = [
  {
    ...{ id: 'small', from: 0, stages: [one('support')], isHigh: false },
    ...{ expiresIn: 30, atEnd: 'escalate', escalation: { to: 'managers', expiresIn: 40 } },
  },
  {
    ...{ id: 'news', from: 100, stages: [{ groups: ['support'], approve: 2, deny: 2 }], isHigh: false },
    ...{ expiresIn: 30, atEnd: 'allow', escalation: null },
  },
  {
    ...{ id: 'large', from: 1_000, stages: [one('security')], isHigh: true },
    ...{ expiresIn: 20, atEnd: 'deny', escalation: null },
  },
];

const strict: readonly Rule[] = [
  {
    ...{ id: 'held', from: 0, stages: [{ groups: ['support'], approve: 2, deny: 1 }], isHigh: false },
    ...{ expiresIn: 30, atEnd: 'hold', escalation: null },
  },
  {
    ...{ id: 'two-steps', from: 100, stages: [one('support'), one('security')], isHigh: false, assured: true },
    ...{ expiresIn: 20, atEnd: 'deny', escalation: null },
  },
  {
    ...{ id: 'quick', from: 1_000, stages: [one('managers')], isHigh: true },
    ...{ expiresIn: 10, atEnd: 'deny', escalation: null },
  },
];

const free: Rule = {
  ...{ id: 'free', from: 0, stages: [], isHigh: false, outcome: 'allow' },
  ...{ expiresIn: 0, atEnd: 'deny', escalation: null },
};

/** Small amounts are free, unless another call of their step is asked about: then all of it is. */
const wholeSteps: readonly Rule[] = [
  free,
  {
    ...{ id: 'step', from: 100, stages: [one('support')], isHigh: false, batch: 'any-asks-all' },
    ...{ expiresIn: 30, atEnd: 'deny', escalation: null },
  },
  {
    ...{
      id: 'secure-step',
      from: 1_000,
      stages: [one('security')],
      isHigh: true,
      batch: 'any-asks-all',
      endsRun: true,
    },
    ...{ expiresIn: 20, atEnd: 'deny', escalation: null },
  },
];

/** People are asked about one call after another, and some are never made. */
const oneByOne: readonly Rule[] = [
  free,
  {
    ...{ id: 'in-turn', from: 100, stages: [{ groups: ['support'], approve: 2, deny: 1 }], isHigh: false },
    ...{ expiresIn: 30, atEnd: 'allow', escalation: null, batch: 'sequential' },
  },
  {
    ...{ id: 'last-word', from: 1_000, stages: [one('security')], isHigh: true, batch: 'sequential', endsRun: true },
    ...{ expiresIn: 20, atEnd: 'deny', escalation: null },
  },
  {
    ...{ id: 'never', from: 5_000, stages: [], isHigh: true, outcome: 'block' },
    ...{ expiresIn: 0, atEnd: 'deny', escalation: null },
  },
];

/** The policies of every world, the first one at its start. The third, the fourth and the last have quotas. */
export const policies: readonly [Policy, Policy, Policy, Policy, Policy, Policy, Policy] = [
  { rules: silent, quotas: null },
  { rules: strict, quotas: null },
  { rules: silent, quotas: { pending: 2, denials: 2, coolDown: 40 } },
  { rules: strict, quotas: { pending: 1, denials: 1, coolDown: 20 } },
  { rules: wholeSteps, quotas: null },
  { rules: oneByOne, quotas: null },
  { rules: wholeSteps, quotas: { pending: 4, denials: 3, coolDown: 20 } },
];

/** A policy whose rule asks for signatures. */
export const signedPolicy: Policy = {
  rules: [
    {
      ...{ id: 'signed', from: 0, stages: [one('support')], isHigh: false, signed: true },
      ...{ expiresIn: 30, atEnd: 'deny', escalation: null },
    },
  ],
  quotas: null,
};

const timeOf = (seconds: number): string => new Date(startAt + seconds * 1_000).toISOString();

/** The other names of people, by name. */
export type Identities = ReadonlyMap<string, string>;

function approverInFile(id: string, groups: readonly Group[], identities: Identities): object {
  const names = [...identities].flatMap(([name, of]) => (of === id ? [name] : []));
  const email = names.find((name) => !isOfDesk(name));
  const frontEnds = names.filter(isOfDesk);
  const delegates = delegations
    .filter(({ from }) => from === id)
    .map(({ to, begin, end }) => ({ to, from: timeOf(begin), until: timeOf(end) }));
  const written = { ...(email !== undefined && { email }), ...(frontEnds.length > 0 && { frontEnds }) };
  return { id, groups, delegates, identities: written };
}

/** The policy as the product reads it: YAML, written as JSON. */
export function policyFile({ rules, quotas }: Policy, identities: Identities): string {
  const ofDesk = Object.entries(deskPeople).filter(([, { filed }]) => filed.length > 0);
  return JSON.stringify({
    version: 1,
    approvers: [
      ...Object.entries(people).map(([id, groups]) => approverInFile(id, groups, identities)),
      ...ofDesk.map(([id, { filed }]) => approverInFile(id, filed, identities)),
    ],
    ...(quotas !== null && {
      quotas: {
        ...{ pendingPerAgent: quotas.pending, deniedBeforeCoolDown: quotas.denials },
        ...{ coolDown: `${String(quotas.coolDown)}s`, coalesceIdentical: true },
      },
    }),
    rules: rules.toReversed().map(ruleInFile),
  });
}

function ruleInFile(rule: Rule): object {
  return {
    id: rule.id,
    match: { tools: ['pay', 'gift'] },
    when: `args.amount >= ${String(rule.from)}`,
    then: thenOf(rule),
  };
}

function thenOf(rule: Rule): object | string {
  if (rule.outcome !== undefined) return rule.outcome === 'allow' ? 'allow' : { block: 'never' };
  return {
    require: {
      stages: rule.stages.map(({ groups, approve, deny }) => ({ quorum: { approve, deny, of: groups } })),
      expiresIn: `${String(rule.expiresIn)}s`,
      onTimeout: rule.atEnd,
      ...(rule.atEnd === 'allow' && { allowOnTimeout: 'i-understand' }),
      ...(rule.escalation !== null && {
        escalation: [{ to: [rule.escalation.to], expiresIn: `${String(rule.escalation.expiresIn)}s` }],
      }),
      risk: rule.isHigh ? 'high' : 'low',
      executeBy: '1h',
      ...(rule.batch !== undefined && { batch: rule.batch }),
      ...(rule.endsRun === true && { denyEndsRun: true }),
      ...(rule.assured === true && { minAssurance: 'medium' }),
      ...(rule.signed === true && { requireSignature: true }),
    },
  };
}
