import fc from 'fast-check';
import { parse } from 'yaml';
import { celEngine } from '@countersign/cel';
import { loadPolicy } from './load-policy.js';
import { createPolicy } from './policy.js';
import { createSuggestions, ruleYaml } from './suggestions.js';
import type { AskedCall, PeoplesDecision } from './suggestions.js';

const day = 86_400_000;
const requirement = createPolicy(loadPolicy('p', 'version: 1\ndefault: require\n')).judge(
  [
    {
      ...{ agentId: 'a', runId: 'r', toolName: 't', arguments: {}, labels: {}, description: null },
      ...{ needsApproval: false, expiresInMs: null, allowedDecisions: null },
    },
  ],
  0,
)[0]?.requirement;
if (requirement === undefined) throw new Error('no requirement');

const approved = (n: number, by = 'ann'): PeoplesDecision => ({
  ...{ status: 'unchanged', by: [by] },
  ...{ askedMs: n * day, decidedMs: n * day + 1000 * (n + 1) },
});

const call = (n: number, change: Partial<AskedCall> = {}): AskedCall => ({
  ...{ callId: `tc_${String(n)}`, toolName: 'refund', agentId: 'billing', hidden: new Set() },
  ...{ arguments: { env: 'staging', amount: n }, requirements: [requirement], decision: approved(n), ...change },
});

const noRules = { rules: [] };
const suggested = (calls: readonly AskedCall[], live: Pick<ReturnType<typeof loadPolicy>, 'rules'> = noRules) => {
  const suggestions = createSuggestions(live, 3);
  for (const one of calls) suggestions.add(one);
  return suggestions.list();
};
const three = [call(0), call(1), call(2)];

describe('a suggestion', () => {
  it('is made for a tool and an agent whose calls were always approved unchanged, with its evidence', () => {
    expect(suggested(three)).toMatchObject([
      {
        rule: {
          id: expect.stringMatching(/^suggested-[0-9a-f]{8}$/) as unknown,
          match: { tools: ['refund'], agents: ['billing'] },
          when: 'args.env == "staging" && args.amount >= 0 && args.amount <= 2',
          then: 'allow',
        },
        evidence: { decisions: 3, people: 1, days: 3, firstMs: 0, lastMs: 2 * day, medianToDecideMs: 2000 },
        callIds: ['tc_0', 'tc_1', 'tc_2'],
      },
    ]);
  });

  it('needs enough decisions, of two people or on two days', () => {
    expect(suggested(three.slice(1))).toEqual([]);
    const onOneDay = (by: readonly string[]) => by.map((who) => call(0, { decision: approved(0, who) }));
    expect(suggested(onOneDay(['ann', 'ann', 'ann']))).toEqual([]);
    expect(suggested(onOneDay(['ann', 'bob', 'ann']))).toHaveLength(1);
  });

  it('is not made after a single other decision, also with later ones', () => {
    const against = call(9, { decision: { status: 'against' } });
    for (let at = 0; at <= 3; at += 1) expect(suggested(three.toSpliced(at, 0, against))).toEqual([]);
    expect(suggested([...three, call(9, { decision: { status: 'against' }, agentId: 'other' })])).toHaveLength(1);
    expect(suggested([...three, call(9, { decision: { status: 'open' } })])[0]?.callIds).toHaveLength(4);
  });

  it.each([
    ['several people were asked', { stages: [{ mode: 'quorum' as const, approve: 2, deny: 1, groups: null }] }],
    ['each group was asked', { stages: [{ mode: 'all-of' as const, approve: 1, deny: 1, groups: ['a', 'b'] }] }],
    ['two stages were asked', { stages: [...requirement.stages, ...requirement.stages] }],
    ['the risk was high', { risk: 'high' as const }],
  ])('is not made where %s', (_, change) => {
    expect(suggested([...three, call(3, { requirements: [{ ...requirement, ...change }] })])).toEqual([]);
  });

  it.each([
    ['blocks', '{ block: "never" }'],
    ['asks two people', '{ require: { quorum: { approve: 2 } } }'],
    ['says that the risk is high', '{ require: { risk: high } }'],
  ])('is not made where a rule %s, although it never matched a recorded call', (_, then) => {
    const live = (match: string) =>
      loadPolicy(
        'p',
        `version: 1\nrules: [{ id: a, match: ${match}, when: args.amount > 99, then: ${then} }]`,
        celEngine,
      );
    expect(suggested(three, live('{ tools: ["re*"] }'))).toEqual([]);
    expect(suggested(three, live('{ agents: [billing] }'))).toEqual([]);
    expect(suggested(three, live('{ tools: [other] }'))).toHaveLength(1);
  });

  it('is never made for a name that is a glob, or that no policy file can have', () => {
    expect(suggested(three.map((one) => ({ ...one, agentId: 'a b' })))).toEqual([]);
    expect(suggested(three.map((one) => ({ ...one, agentId: '*' })))).toEqual([]);
    expect(suggested(three.map((one) => ({ ...one, toolName: 'refun?' })))).toEqual([]);
  });

  it('says nothing of values that are hidden, long or no plain text', () => {
    const args = { token: 'abc', note: 'x'.repeat(99), quote: '" || true || "', 'a-b': 'c', deep: { env: 'prod' } };
    const [only] = suggested(three.map((one) => ({ ...one, arguments: args, hidden: new Set(['token']) })));
    expect(only?.rule).not.toHaveProperty('when');
    // Hidden in one of the calls is enough.
    const [other] = suggested(three.map((one, n) => ({ ...one, hidden: new Set(n === 2 ? ['env'] : []) })));
    expect(other?.rule['when']).not.toContain('env');
  });

  it('lets through no number beyond those that people saw', () => {
    const amounts = (...all: readonly unknown[]) =>
      suggested(all.map((amount, n) => ({ ...call(n), arguments: { pay: { amount } } as AskedCall['arguments'] })))[0];
    const judged = (rule: object | undefined, amount: number): string | undefined => {
      const content = loadPolicy('p', JSON.stringify({ version: 1, default: 'require', rules: [rule] }), celEngine);
      const asked = {
        ...{ agentId: 'billing', runId: 'r', toolName: 'refund', arguments: { pay: { amount } }, labels: {} },
        ...{ description: null, needsApproval: false, expiresInMs: null, allowedDecisions: null },
      };
      return createPolicy(content).judge([asked], 0)[0]?.verdict.outcome;
    };
    const rule = amounts(0.01, 1, 0.02)?.rule;
    expect([0.01, 0.5, 1].map((amount) => judged(rule, amount))).toEqual(['allow', 'allow', 'allow']);
    expect([-5, 0, 1.01, 1e6].map((amount) => judged(rule, amount))).toEqual(Array(4).fill('require'));
    const large = amounts(1e21, 1e21, 1e21)?.rule;
    expect([judged(large, 1e21), judged(large, 1e22)]).toEqual(['allow', 'require']);
  });

  it('says of a number that some calls have only what it may be where it is', () => {
    const without = { ...call(3), arguments: { env: 'staging' } };
    expect(suggested([...three, without])[0]?.rule['when']).toContain(
      '(!has(args.amount) || args.amount >= 0 && args.amount <= 2)',
    );
  });

  it('is not made where a number cannot be limited by an expression', () => {
    for (const args of [
      { 'a-b': 1 },
      { list: [1] },
      Object.fromEntries('abcdefghi'.split('').map((name) => [name, 1])),
    ]) {
      expect(suggested(three.map((one) => ({ ...one, arguments: args })))).toEqual([]);
    }
  });

  it('is a valid rule of a policy file, for any names and values', () => {
    fc.assert(
      fc.property(fc.string(), fc.string(), fc.string(), (toolName, agentId, env) => {
        const named = { toolName: `t${toolName}`, agentId: `a${agentId}`, arguments: { env } };
        for (const { rule } of suggested(three.map((one) => ({ ...one, ...named })))) {
          expect(parse(ruleYaml(rule))).toEqual([rule]);
          const content = loadPolicy('p', JSON.stringify({ version: 1, rules: [rule] }), celEngine);
          expect(content.rules[0]).toMatchObject({ tools: [named.toolName], agents: [named.agentId] });
        }
      }),
    );
  });
});
