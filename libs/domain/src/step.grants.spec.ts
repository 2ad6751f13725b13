import { describe, expect, it } from '@jest/globals';
import { minute, stored } from './testing/constants.js';
import { requirement, responder, stage, verdict } from './testing/fixtures.js';
import { acceptedCalls, call, grantFacts, outcomesOf, step } from './testing/step-fixtures.js';
import type { GrantWithPeople } from './testing/step-fixtures.js';
import { suffices } from './step.grants.js';

const small = { match: { when: 'args.amount <= 50' } };
const exactly = (digest: string, approvalId: string | null = null) => ({ match: { digest, salt: null }, approvalId });

const coveredBy = (...grants: readonly GrantWithPeople[]) => outcomesOf(step([call('a', { grants })]));

describe('a call that a grant covers', () => {
  it('is allowed, names the grant, and needs a use of it', () => {
    const [decided] = acceptedCalls(step([call('a', { grants: [grantFacts()] })]));
    expect(decided).toMatchObject({
      command: {
        judgement: {
          outcome: 'allow',
          verdict: {
            automatic: true,
            grantId: 'grn_aaaaaaaaaaaaaaaaaaaaaaaaaa',
            why: ['amount above 50', 'covered by the grant grn_aaaaaaaaaaaaaaaaaaaaaaaaaa of alice'],
          },
        },
      },
      use: { type: 'UseGrant', grantId: 'grn_aaaaaaaaaaaaaaaaaaaaaaaaaa', callId: 'id-of-a', runId: 'run-1' },
    });
  });

  it.each([
    ['of another tool', grantFacts({ toolName: 'ship' })],
    ['of another run', grantFacts({ runId: 'run-2' })],
    ['of another agent', grantFacts({ agentId: 'other' })],
    ['for other arguments', grantFacts(exactly('one'), { digest: 'other' })],
    ['for other arguments, where nothing is known of these', grantFacts(exactly('one'))],
    ['whose expression is not true of the arguments', grantFacts(small, { holds: false })],
    ['whose expression was not evaluated', grantFacts(small)],
    ['that waits for a second person', grantFacts({}, { status: 'pending' })],
    ['that was revoked', grantFacts({}, { status: 'revoked' })],
    ['that was revoked after the call took a use', grantFacts({}, { status: 'revoked', callIds: ['id-of-a'] })],
    ['whose uses are taken', grantFacts({ maxUses: 2 }, { uses: 2 })],
    ['whose creator may grant nothing any more', grantFacts({}, { creator: null })],
    ['whose second person is no approver any more', grantFacts({}, { confirmed: { by: 'bob', at: stored(0) } })],
  ])('is not covered by a grant %s', (_, facts) => {
    expect(coveredBy(facts)).toEqual(['require']);
  });

  it.each([
    [{ cwd: '/work/staging', team: 'ops' }, 'allow'],
    [{ cwd: '/work/production' }, 'require'],
    [{}, 'require'],
    [{ CWD: '/work/staging' }, 'require'],
  ] as const)('with the labels %j is covered by a grant for one folder: %s', (labels, outcome) => {
    const grants = [grantFacts({ labels: { cwd: '/work/staging' } })];
    expect(outcomesOf(step([call('a', { grants, of: { labels } })]))).toEqual([outcome]);
  });

  it.each([
    [{}, { team: 'ops' }, 'allow'],
    [{}, { cwd: '/work/production' }, 'require'],
    [{ cwd: '/work/staging' }, { cwd: '/work/staging' }, 'allow'],
    [{ cwd: '/work/staging' }, { cwd: '/work/staging', mcpServer: 'files' }, 'require'],
  ] as const)(
    'when the call with the labels %j was remembered, one with %j has the outcome %s',
    (labels, of, outcome) => {
      const grants = [grantFacts({ labels, approvalId: 'approval-of-b' })];
      expect(outcomesOf(step([call('a', { grants, of: { labels: of } })]))).toEqual([outcome]);
    },
  );

  it.each([
    [{ toolSchemaHash: 'one' }, 'one', 'allow'],
    [{ toolSchemaHash: 'one' }, 'other', 'require'],
    [{ toolSchemaHash: 'one' }, null, 'require'],
    [{ toolSchemaHash: null }, null, 'allow'],
    [{ toolSchemaHash: null }, 'one', 'require'],
    // A grant of an earlier version.
    [{}, null, 'allow'],
    [{}, 'one', 'require'],
  ] as const)(
    'when the call with the schema %j was remembered, one with %j has the outcome %s',
    (remembered, toolSchemaHash, outcome) => {
      const grants = [grantFacts({ ...remembered, approvalId: 'approval-of-b' })];
      expect(outcomesOf(step([call('a', { grants, of: { toolSchemaHash } })]))).toEqual([outcome]);
    },
  );

  it('with any schema is covered by a grant that nobody gave with an approval', () => {
    expect(outcomesOf(step([call('a', { grants: [grantFacts()], of: { toolSchemaHash: 'one' } })]))).toEqual(['allow']);
  });

  it('is covered by the first grant that is left', () => {
    const grants = [grantFacts({ maxUses: 1 }, { uses: 1 }), grantFacts({ grantId: 'grn_second' })];
    expect(acceptedCalls(step([call('a', { grants })]))[0]?.use).toMatchObject({ grantId: 'grn_second' });
  });

  it('is covered by a use that it has already, although every use is taken', () => {
    expect(coveredBy(grantFacts({ maxUses: 1 }, { uses: 1, callIds: ['id-of-a'] }))).toEqual(['allow']);
  });

  it('is not covered once the grant has ended', () => {
    const calls = [call('a', { grants: [grantFacts()] })];
    expect(outcomesOf(step(calls, { at: minute(59) }))).toEqual(['allow']);
    expect(outcomesOf(step(calls, { at: minute(60) }))).toEqual(['require']);
  });

  it('is never one that the policy blocks or allows', () => {
    const grants = [grantFacts()];
    const judgedAs = (outcome: 'allow' | 'block') =>
      acceptedCalls(
        step([call('a', { grants, judged: { verdict: verdict(outcome), requirement: requirement() } })]),
      )[0];
    expect(judgedAs('block')).toMatchObject({ command: { judgement: { outcome: 'block' } }, use: null });
    expect(judgedAs('allow')).toMatchObject({ command: { judgement: { outcome: 'allow' } }, use: null });
  });

  it('is never one that a rule might block, and the verdict says so', () => {
    const judged = { verdict: verdict(), requirement: requirement(), mightBeBlockedBy: 'no-drop' };
    const whyWith = (grants: readonly GrantWithPeople[]) => {
      const [decided] = acceptedCalls(step([call('a', { grants, judged })]));
      return [decided?.command.judgement.outcome, decided?.use, decided?.command.judgement.verdict.why.at(-1)];
    };
    const why = 'no grant covers it, because "no-drop" might block the call';
    expect(whyWith([grantFacts(small)])).toEqual(['require', null, why]);
    expect(whyWith([grantFacts({ runId: 'run-2' })])).toEqual(['require', null, 'amount above 50']);
  });

  it.each([
    [null, null, 'allow'],
    ['low', 'low', 'allow'],
    ['low', 'medium', 'require'],
    [null, 'low', 'require'],
    ['high', 'medium', 'allow'],
  ] as const)('of risk %s covers a call of risk %s: %s', (granted, risk, outcome) => {
    const judged = { verdict: verdict(), requirement: requirement({ risk }) };
    expect(outcomesOf(step([call('a', { judged, grants: [grantFacts({ risk: granted })] })]))).toEqual([outcome]);
  });
});

describe('the people of a grant', () => {
  it.each(['alice', 'Alice@example.com', 'T01:U01'])(
    'it covers no call in the name of its creator, here %s',
    (name) => {
      const creator = responder('alice', { aliases: ['alice@example.com', 'T01:U01'] });
      const grants = [grantFacts({}, { creator })];
      expect(outcomesOf(step([call('a', { grants, of: { onBehalfOf: name } })]))).toEqual(['require']);
      expect(outcomesOf(step([call('a', { grants })]))).toEqual(['allow']);
    },
  );

  it.each(['bob', 'Bob@example.com', 'T01:U02'])(
    'it covers no call in the name of the person who confirmed it, here %s',
    (name) => {
      const confirmer = { principal: 'bob', aliases: ['bob@example.com', 'T01:U02'] };
      const grants = [grantFacts({}, { confirmed: { by: 'bob', at: stored(0) }, confirmer })];
      expect(outcomesOf(step([call('a', { grants, of: { onBehalfOf: name } })]))).toEqual(['require']);
      expect(outcomesOf(step([call('a', { grants })]))).toEqual(['allow']);
    },
  );

  it('it covers no call of high risk once the person who confirmed it has left the groups that are asked', () => {
    const outcomeWith = (risk: 'low' | 'high', groups: { readonly groups?: readonly string[] }) => {
      const byOps = { verdict: verdict(), requirement: requirement({ risk, stages: [stage({ groups: ['ops'] })] }) };
      const more = { confirmed: { by: 'bob', at: stored(0) }, confirmer: { principal: 'bob', ...groups } };
      return outcomesOf(step([call('a', { judged: byOps, grants: [grantFacts({ risk: 'high' }, more)] })]));
    };
    expect(outcomeWith('high', { groups: ['ops'] })).toEqual(['allow']);
    expect(outcomeWith('high', { groups: ['sales'] })).toEqual(['require']);
    expect(outcomeWith('high', {})).toEqual(['allow']);
    expect(outcomeWith('low', { groups: ['sales'] })).toEqual(['allow']);
  });

  it('are asked where they could not approve the call alone', () => {
    const judged = {
      verdict: verdict(),
      requirement: requirement({ stages: [{ mode: 'quorum', approve: 2, deny: 1, groups: null }] }),
    };
    expect(outcomesOf(step([call('a', { judged, grants: [grantFacts()] })]))).toEqual(['require']);
  });
});

describe('the principal of a call', () => {
  const of = { requestedBy: 'billing-service' };
  const outcomeOf = (terms: Parameters<typeof grantFacts>[0]) =>
    outcomesOf(step([call('a', { of, grants: [grantFacts(terms)] })]));

  it.each([
    ['names it, for its agent', { requestedBy: 'billing-service' }, 'allow'],
    ['names it, for every agent', { requestedBy: 'billing-service', agentId: null }, 'allow'],
    ['names another, for the same agent', { requestedBy: 'other' }, 'require'],
    ['names another, for every agent', { requestedBy: 'other', agentId: null }, 'require'],
    ['names none, for its agent', {}, 'allow'],
    ['names none, for every agent', { agentId: null }, 'allow'],
  ])('decides whether a grant that %s covers it', (_, terms, outcome) => {
    expect(outcomeOf(terms)).toEqual([outcome]);
  });
});

describe('the calls of one request', () => {
  const withGrant = (maxUses: number, uses = 0, callIds: readonly string[] = []) =>
    ['a', 'b', 'c'].map((one) => call(one, { grants: [grantFacts({ maxUses }, { uses, callIds })] }));

  it('share the uses that are left, in the order of the request', () => {
    expect(outcomesOf(step(withGrant(2)))).toEqual(['allow', 'allow', 'require']);
    expect(outcomesOf(step(withGrant(2, 1)))).toEqual(['allow', 'require', 'require']);
  });

  it('take no second use for a call that has one', () => {
    expect(outcomesOf(step(withGrant(2, 1, ['id-of-a'])))).toEqual(['allow', 'allow', 'require']);
  });

  it('fall back to the next grant where the first has no use left', () => {
    const grants = [grantFacts({ maxUses: 1 }), grantFacts({ grantId: 'grn_second', maxUses: 1 })];
    const calls = ['a', 'b', 'c'].map((one) => call(one, { grants }));
    expect(acceptedCalls(step(calls)).map((one) => one?.use?.grantId ?? null)).toEqual([
      ...['grn_aaaaaaaaaaaaaaaaaaaaaaaaaa', 'grn_second', null],
    ]);
  });
});

describe('what a grant permits', () => {
  it('is the tool, these arguments, or those of which its expression is true', () => {
    expect(coveredBy(grantFacts({ match: { any: true } }))).toEqual(['allow']);
    expect(coveredBy(grantFacts(exactly('one'), { digest: 'one' }))).toEqual(['allow']);
    expect(coveredBy(grantFacts(small, { holds: true }))).toEqual(['allow']);
  });

  it('never tells whether a hidden value was guessed: only the digest of a remembered approval is compared', () => {
    expect(coveredBy(grantFacts(exactly('one'), { digest: 'one', hidesValues: true }))).toEqual(['require']);
    const remembered = grantFacts(exactly('one', 'approval-of-b'), { digest: 'one', hidesValues: true });
    expect(coveredBy(remembered)).toEqual(['allow']);
  });
});

describe('a grant that suffices', () => {
  const sufficesFor = (calls: number, ...given: Parameters<typeof grantFacts>) =>
    suffices(grantFacts(...given), 'id-of-a', calls);

  it('matches, and has a use for every call of the request or one of this call', () => {
    expect(sufficesFor(256)).toBe(true);
    expect(sufficesFor(2, { maxUses: 3 }, { uses: 1 })).toBe(true);
    expect(sufficesFor(3, { maxUses: 3 }, { uses: 1 })).toBe(false);
    expect(sufficesFor(3, { maxUses: 3 }, { uses: 3, callIds: ['id-of-a'] })).toBe(true);
    expect(sufficesFor(1, small, { holds: false })).toBe(false);
    expect(sufficesFor(1, {}, { status: 'pending' })).toBe(false);
  });
});
