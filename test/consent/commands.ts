import fc from 'fast-check';
import type { Command, Decision } from './words.ts';
import { people, policies } from './world.ts';

const person = fc.constantFrom(...Object.keys(people));
const call = fc.constantFrom(1, 1, 1, 2);
const amount = fc.constantFrom(5, 50, 150, 300, 1_500, 9_000);
const expiresIn = fc.option(fc.constantFrom(1, 25), { freq: 3, nil: null });
const instruction = fc.option(fc.constantFrom('verify it', 'send the list'), { freq: 2, nil: null });

const decision: fc.Arbitrary<Decision> = fc.oneof(
  { weight: 8, arbitrary: fc.constant({ type: 'approve' } as const) },
  { weight: 2, arbitrary: fc.constant({ type: 'deny' } as const) },
  { weight: 3, arbitrary: amount.map((to) => ({ type: 'edit', amount: to }) as const) },
  { weight: 1, arbitrary: fc.constantFrom('yes', 'no').map((text) => ({ type: 'answer', text }) as const) },
);

const respond: fc.Arbitrary<Command> = fc.record({
  ...{ type: fc.constant('respond' as const), call, by: person, decision, instruction },
  seen: fc.constantFrom('current' as const, 'current' as const, 'first' as const, 'none' as const),
});

const request: fc.Arbitrary<Command> = fc.record({
  ...{ type: fc.constant('request' as const), call, amount, expiresIn },
  onBehalfOf: fc.option(fc.constantFrom('amy', 'amy@corp.example', 'dan'), { freq: 3, nil: null }),
});

const next: fc.Arbitrary<Command> = fc.oneof(
  { weight: 14, arbitrary: respond },
  { weight: 3, arbitrary: request },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('ask' as const), call, expiresIn }) },
  { weight: 2, arbitrary: fc.record({ type: fc.constant('withdraw' as const), call, by: person }) },
  { weight: 4, arbitrary: fc.constantFrom(1, 12, 31, 61).map((seconds) => ({ type: 'wait', seconds }) as const) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('cancel' as const), call }) },
  { weight: 3, arbitrary: fc.record({ type: fc.constant('claim' as const), call, key: fc.constantFrom('k1', 'k2') }) },
  { weight: 1, arbitrary: fc.record({ type: fc.constant('report' as const), call }) },
  {
    weight: 1,
    arbitrary: fc.record({
      type: fc.constant('reconcile' as const),
      call,
      as: fc.constantFrom('succeeded' as const, 'retry' as const),
    }),
  },
  { weight: 1, arbitrary: person.map((one) => ({ type: 'remove', person: one }) as const) },
  { weight: 1, arbitrary: fc.constant({ type: 'identify', person: 'amy@corp.example', as: 'amy' } as const) },
  { weight: 1, arbitrary: fc.constantFrom(...policies).map((policy) => ({ type: 'policy', policy }) as const) },
);

/** What happens in one world: a request first. */
export const histories: fc.Arbitrary<readonly Command[]> = fc
  .tuple(amount, expiresIn, fc.array(next, { minLength: 3, maxLength: 24 }))
  .map(([first, shorter, rest]) => [
    { type: 'request', call: 1, amount: first, expiresIn: shorter, onBehalfOf: null },
    ...rest,
  ]);
