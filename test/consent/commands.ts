import fc from 'fast-check';
import { deskChanges, deskOpens, identities, manyNames, withoutDesk } from './desk-commands.ts';
import type { Agent, ApproveAll, AskedCall, Command, Decision, Grant, Match, Remember, Respond } from './words.ts';
import { deskPeople, people, policies, runOf } from './world.ts';

/** One of so many is a value, the others are null. */
const oneOf = <Value>(count: number, value: fc.Arbitrary<Value>): fc.Arbitrary<Value | null> =>
  fc.oneof({ weight: count - 1, arbitrary: fc.constant(null) }, { weight: 1, arbitrary: value });

const person = fc.constantFrom(...Object.keys(people));
/** Also the people of the front end. */
const anyone = fc.constantFrom(...Object.keys(people), ...Object.keys(deskPeople));
const call = fc.constantFrom(1, 1, 1, 1, 1, 2, 2, 3, 4);
const amount = fc.constantFrom(5, 5, 50, 150, 300, 1_500, 9_000);
const expiresIn = oneOf(3, fc.constantFrom(1, 25));
const instruction = oneOf(2, fc.constantFrom('verify it', 'send the list'));
/** The hidden value that the first agent uses, and another one. Others can guess both. */
const secret = fc.constantFrom(null, null, null, null, 'hunter-blue', 'hunter-green');
const agent = fc.constantFrom<Agent>('agent', 'agent', 'agent', 'other');
const maxUses = fc.constantFrom(null, 1, 2);

const remember: fc.Arbitrary<Remember | null> = oneOf(
  9,
  fc.record({
    match: fc.constantFrom('exact' as const, 'tool' as const),
    scope: fc.constantFrom('run' as const, 'agent' as const),
    ...{ expiresIn: fc.constantFrom(20, 600), maxUses },
  }),
);

const decision: fc.Arbitrary<Decision> = fc.oneof(
  { weight: 8, arbitrary: fc.constant({ type: 'approve' } as const) },
  { weight: 2, arbitrary: fc.constant({ type: 'deny' } as const) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(amount, fc.constantFrom(null, 'kept', 'kept', 'hunter-blue'))
      .map(([to, hidden]) => ({ type: 'edit', amount: to, secret: hidden }) as const),
  },
  {
    weight: 1,
    arbitrary: fc
      .tuple(fc.constantFrom('yes', 'no'), fc.constantFrom(null, null, 'hunter-blue'))
      .map(([text, hidden]) => ({ type: 'answer', text, secret: hidden }) as const),
  },
);

const respond: fc.Arbitrary<Respond> = fc
  .record({
    ...{ type: fc.constant('respond' as const), call, by: anyone, decision, instruction, remember },
    seen: fc.constantFrom('current', 'current', 'whole', 'first', 'early', 'none'),
  })
  // Only an unchanged approval can be remembered.
  .map((one) => (one.decision.type === 'approve' ? one : { ...one, remember: null }));

/** Another tool, in one of so many. */
const ofTools = <Asked extends AskedCall>(count: number, one: fc.Arbitrary<Asked>): fc.Arbitrary<Asked> =>
  fc.tuple(one, oneOf(count, fc.constant('gift' as const))).map(([call, tool]) => (tool ? { ...call, tool } : call));

const asked: fc.Arbitrary<AskedCall> = ofTools(
  5,
  fc.record({
    ...{ call: fc.constantFrom(1, 2, 2, 3, 3, 4), amount, secret },
    inside: oneOf(5, fc.constantFrom(1, 1, 1, 1, 2, 4)),
  }),
);

const request: fc.Arbitrary<Command> = fc
  .record({
    ...{ type: fc.constant('request' as const), by: agent, as: agent, expiresIn },
    calls: fc.uniqueArray(asked, { minLength: 1, maxLength: 2, selector: (one) => one.call }),
    batch: fc.constantFrom(null, null, null, 'pair', 'both'),
    inTurn: fc.constantFrom(false, false, true),
    wants: fc.constantFrom(false, false, true),
    onBehalfOf: oneOf(4, fc.constantFrom('amy', 'amy@corp.example', 'dan', 'ben', 'desk#amy', 'desk#kim')),
  })
  .map((one) => ({
    ...one,
    // Mostly the agent's own name; and all calls of a request are of one run.
    ...{ as: one.by === 'other' ? one.as : 'agent' },
    calls: one.calls.filter((other) => runOf(other.call) === runOf(one.calls[0]?.call ?? 1)),
  }));

const match: fc.Arbitrary<Match> = fc.oneof(
  fc.constantFrom({ of: 'any' } as const, { of: 'small' } as const),
  fc.record({
    of: fc.constantFrom('guess' as const, 'exact' as const, 'exact' as const),
    is: fc.record({ amount, secret: fc.constantFrom(null, 'hunter-blue') }),
  }),
);

const grant: fc.Arbitrary<Grant> = fc.record({
  ...{ type: fc.constant('grant' as const), by: person, match, maxUses },
  run: fc.constantFrom(null, null, 1, 2),
  as: fc.constantFrom<Agent | null>(null, null, 'agent', 'other'),
  of: fc.constantFrom<Agent | null>(null, null, 'agent', 'other'),
  expiresIn: fc.constantFrom(20, 600),
});

const approveAll: fc.Arbitrary<ApproveAll> = fc.record({
  ...{ type: fc.constant('approve-all' as const), by: anyone },
  calls: fc.constantFrom([1, 2], [1, 2], [1, 2, 3], [2, 3]),
  seen: fc.constantFrom('current' as const, 'current' as const, 'first' as const),
});

const ofKind = <Kind extends string>(type: Kind) => ({ type: fc.constant(type) });

const next: fc.Arbitrary<Command> = fc.oneof(
  { weight: 14, arbitrary: respond },
  { weight: 6, arbitrary: request },
  { weight: 1, arbitrary: approveAll },
  { weight: 1, arbitrary: fc.record({ ...ofKind('output'), call: fc.constantFrom(1, 3, 3), by: agent }) },
  { weight: 2, arbitrary: fc.record({ ...ofKind('ask'), call, by: agent, expiresIn }) },
  { weight: 2, arbitrary: fc.record({ ...ofKind('withdraw'), call, by: anyone }) },
  { weight: 4, arbitrary: fc.constantFrom(1, 12, 31, 61).map((seconds) => ({ type: 'wait', seconds }) as const) },
  { weight: 1, arbitrary: fc.constantFrom(3, 31).map((seconds) => ({ type: 'stop', seconds }) as const) },
  { weight: 1, arbitrary: fc.record({ ...ofKind('cancel'), call, by: agent }) },
  { weight: 1, arbitrary: fc.record({ ...ofKind('cancel-run'), run: fc.constantFrom(1, 2), by: agent }) },
  { weight: 3, arbitrary: fc.record({ ...ofKind('claim'), call, key: fc.constantFrom('k1', 'k2') }) },
  { weight: 1, arbitrary: fc.record({ ...ofKind('report'), call }) },
  {
    weight: 1,
    arbitrary: fc.record({ ...ofKind('reconcile'), call, as: fc.constantFrom('succeeded' as const, 'retry' as const) }),
  },
  { weight: 2, arbitrary: grant },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constantFrom('confirm' as const, 'confirm' as const, 'revoke' as const),
      ...{ grant: fc.constantFrom(0, 0, 1, 2), by: person },
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      ...ofKind('erase'),
      of: fc.constantFrom<Agent | null>(null, 'agent', 'other'),
      force: fc.boolean(),
    }),
  },
  { weight: 1, arbitrary: person.map((one) => ({ type: 'remove', person: one }) as const) },
  { weight: 1, arbitrary: person.map((one) => ({ type: 'renew', person: one }) as const) },
  { weight: 1, arbitrary: fc.constant({ type: 'restart' } as const) },
  { weight: 1, arbitrary: identities },
  { weight: 2, arbitrary: deskChanges },
  { weight: 1, arbitrary: fc.constantFrom(...policies).map((policy) => ({ type: 'policy', policy }) as const) },
);

const approvesAs = (by: string, of: number): Respond => ({
  ...{
    type: 'respond',
    call: of,
    by,
    decision: { type: 'approve' },
    seen: 'current',
    instruction: null,
    remember: null,
  },
});

/** Steps that lead far only together. */
const together: fc.Arbitrary<readonly Command[]> = fc.oneof(
  // A person who takes back what they said.
  fc
    .tuple(call, fc.constantFrom('amy', 'ben', 'cleo', 'eve', 'desk#amy', 'desk#Kim'), decision)
    .map(([of, by, said]): Command[] => [
      { ...approvesAs(by, of), decision: said },
      { type: 'withdraw', call: of, by },
    ]),
  // Everybody agrees, and the call runs.
  fc
    .tuple(call, fc.subarray(['amy', 'ben', 'cleo', 'dan', 'eve'], { minLength: 2, maxLength: 3 }), fc.boolean())
    .map(([of, by, isReported]): Command[] => [
      ...by.map((one) => approvesAs(one, of)),
      { type: 'claim', call: of, key: 'k1' },
      ...(isReported ? [{ type: 'report', call: of } as const] : []),
    ]),
  // A grant above the risk tier, and the second person.
  fc
    .tuple(grant, fc.constantFrom('dan', 'cleo', 'eve', 'fay'), fc.constantFrom('dan', 'cleo', 'eve', 'fay'), request)
    .map(([one, by, second, then]): Command[] => [{ ...one, by }, { type: 'confirm', grant: 0, by: second }, then]),
  // An agent repeats its request, and wants people to be asked.
  fc
    .tuple(request, fc.constantFrom(...policies))
    .map(([one, policy]): Command[] => [
      { ...one, wants: false } as Command,
      { type: 'policy', policy },
      { ...one, wants: true } as Command,
    ]),
  // The outcome of a run is not known in time.
  fc.tuple(call, fc.constantFrom('succeeded' as const, 'retry' as const)).map(([of, as]): Command[] => [
    { type: 'claim', call: of, key: 'k2' },
    { type: 'wait', seconds: 61 },
    { type: 'reconcile', call: of, as },
    { type: 'claim', call: of, key: 'k1' },
  ]),
);

const steps: fc.Arbitrary<readonly Command[]> = fc
  .array(fc.oneof({ weight: 5, arbitrary: next.map((one) => [one]) }, { weight: 1, arbitrary: together }), {
    ...{ minLength: 3, maxLength: 18, size: 'max' },
  })
  .map((all) => all.flat());

const firstRequest: fc.Arbitrary<Command> = fc
  .record({ amount, secret, expiresIn, second: oneOf(2, fc.record({ amount, secret })) })
  .chain(({ expiresIn: shorter, second, ...first }) =>
    fc.tuple(fc.constantFrom(null, null, 'pair'), fc.boolean()).map(([batch, inTurn]) => ({
      ...{ type: 'request' as const, by: 'agent' as const, as: 'agent' as const, onBehalfOf: null },
      ...{ expiresIn: shorter, batch: second === null ? null : batch, inTurn, wants: false },
      calls: [first, ...(second === null ? [] : [second])].map((one, at) => ({ ...one, call: at + 1, inside: null })),
    })),
  );

/** What happens in one world: in some of them a policy with quotas, a grant or a front end, and a request before all else. */
export const histories: fc.Arbitrary<readonly Command[]> = fc
  .record({
    policy: fc.constantFrom(null, null, policies[1], policies[2], policies[4], policies[5], policies[6]),
    granted: oneOf(4, grant),
    desk: oneOf(2, deskOpens),
    names: fc.oneof(fc.constant([]), manyNames(decision)),
    first: firstRequest,
    rest: steps,
  })
  .map(({ policy, granted, desk, first, names, rest }) => [
    ...(policy === null ? [] : [{ type: 'policy', policy } as const]),
    ...(granted === null ? [] : [granted]),
    ...(desk === null ? withoutDesk([first, ...rest]) : [desk, first, ...names, ...rest]),
  ]);
