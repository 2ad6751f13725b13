import fc from 'fast-check';
import type { DurationMs, Requirement, ToolCallEvent } from '@countersign/contracts';
import type { RequestToolCall, ToolCallCommand } from '../tool-call.commands.js';
import type { ResponseDecision } from '../tool-call.response-commands.js';
import { toolCallDecider } from '../tool-call.decider.js';
import { currentApproval, nextRound } from '../tool-call.state.js';
import type { ToolCallState } from '../tool-call.state.js';
import {
  ask,
  cancel,
  claim,
  digestOf,
  edit,
  firstApproval,
  lapseClaim,
  minuteMs,
  reconcile,
  renew,
  report,
  request,
  requestAllowed,
  requestBlocked,
  requirement,
  respond,
  responder,
  submit,
  verdict,
} from './fixtures.js';

const { decide, evolve, initialState } = toolCallDecider;

/** A command for the current state, at a given time. */
type Move = (state: ToolCallState, at: number) => ToolCallCommand;

const groupsOf: Readonly<Record<string, string[]>> = {
  agent: ['ops', 'security'],
  alice: ['ops'],
  'Alice ': ['ops'],
  bob: ['ops', 'security'],
  carol: ['security'],
  max: ['managers'],
};
const people = fc.constantFrom(...Object.keys(groupsOf));
const digests = fc.constantFrom('a', 'b', 'c');

const approvalIdOf = (state: ToolCallState) => currentApproval(state)?.approvalId ?? firstApproval;

const stages: fc.Arbitrary<Requirement['stages']> = fc.array(
  fc.record({
    mode: fc.constantFrom('quorum', 'all-of'),
    approve: fc.integer({ min: 1, max: 3 }),
    deny: fc.integer({ min: 1, max: 2 }),
    groups: fc.constantFrom(null, ['ops'], ['ops', 'security'], ['security']),
  }),
  { minLength: 1, maxLength: 2 },
);

const requirements: fc.Arbitrary<Requirement> = fc
  .record({
    stages,
    fourEyes: fc.boolean(),
    onTimeout: fc.constantFrom<Requirement['onTimeout'][]>('deny', 'escalate', 'hold', 'allow'),
    risk: fc.constantFrom<Requirement['risk'][]>(null, 'low', 'high'),
    expiresInMs: fc.constantFrom<DurationMs[]>(60 * minuteMs, 'never'),
    executeByMs: fc.constantFrom<DurationMs[]>(30 * minuteMs, 'never'),
    remindersMs: fc.constantFrom<number[][]>([], [10 * minuteMs, 20 * minuteMs]),
    escalation: fc.constantFrom<Requirement['escalation'][]>([], [{ to: ['managers'], expiresInMs: 30 * minuteMs }]),
  })
  .map((required) => requirement(required));

const requests: fc.Arbitrary<RequestToolCall> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc
      .tuple(requirements, fc.boolean(), fc.constantFrom({}, { owner: 'Carol', onBehalfOf: 'max' }))
      .map(([one, idempotent, forWhom]) => request(one, { idempotent, ...forWhom })),
  },
  { weight: 2, arbitrary: fc.boolean().map((idempotent) => requestAllowed({ idempotent })) },
  { weight: 1, arbitrary: fc.constant(requestAllowed({ clientExecuted: true })) },
  { weight: 1, arbitrary: fc.constant(requestBlocked()) },
);

const decisions: fc.Arbitrary<ResponseDecision> = fc.oneof(
  { weight: 6, arbitrary: fc.constant({ type: 'approve' } as const) },
  { weight: 2, arbitrary: fc.constant({ type: 'deny' } as const) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('x', 'y').map((output) => ({ type: 'answer', output, hidesValues: false }) as const),
  },
  { weight: 2, arbitrary: digests.map((letter) => edit(letter)) },
  {
    weight: 1,
    arbitrary: fc
      .tuple(digests, requirements)
      .map(([letter, one]) =>
        edit(letter, { judgement: { outcome: 'require', verdict: verdict(), requirement: one } }),
      ),
  },
);

const responses: fc.Arbitrary<Move> = fc
  .record({ who: people, delegators: fc.subarray(Object.keys(groupsOf), { maxLength: 2 }), decision: decisions })
  .map(({ who, delegators, decision }) => (state, at) => {
    const away = delegators.map((principal) => ({ principal, groups: groupsOf[principal] ?? [] }));
    const person = responder(who, { groups: groupsOf[who] ?? [], delegators: away });
    return respond(person, { decision, at, approvalId: approvalIdOf(state) });
  });

const attemptOf = (state: ToolCallState) =>
  state.status === 'recorded' && state.execution.status !== 'none' ? (state.execution.attempt ?? 1) : 1;

const approvalNamed = (round: number) => `${firstApproval.slice(0, -1)}${String(round)}`;

const moves: fc.Arbitrary<Move> = fc.oneof(
  { weight: 10, arbitrary: responses },
  {
    weight: 5,
    arbitrary: fc.constantFrom('a', 'b', 'c').map(
      (letter): Move =>
        (_, at) =>
          claim({ at, actionDigest: digestOf(letter) }),
    ),
  },
  { weight: 3, arbitrary: fc.constant<Move>((state, at) => report(undefined, attemptOf(state), at)) },
  { weight: 2, arbitrary: fc.constant<Move>((state, at) => lapseClaim(at, attemptOf(state))) },
  { weight: 1, arbitrary: fc.constant<Move>((state, at) => renew({ at, attempt: attemptOf(state) })) },
  {
    weight: 1,
    arbitrary: fc.constantFrom('succeeded' as const, 'failed' as const, 'retry' as const).map(
      (status): Move =>
        (_, at) =>
          reconcile(status, at),
    ),
  },
  { weight: 1, arbitrary: fc.constant<Move>((_, at) => submit(undefined, at)) },
  { weight: 1, arbitrary: fc.constant<Move>((_, at) => cancel(at)) },
  { weight: 1, arbitrary: requests.map((one): Move => (_, at) => ({ ...one, at })) },
  {
    weight: 2,
    arbitrary: requirements.map((one): Move => (state, at) => {
      const round = nextRound(state);
      return ask({ at, round, approvalId: approvalNamed(round), requirement: one });
    }),
  },
  {
    weight: 2,
    arbitrary: people.map((withdrawnBy): Move => (state, at) => ({
      type: 'WithdrawResponse',
      at,
      approvalId: approvalIdOf(state),
      withdrawnBy,
    })),
  },
  {
    weight: 4,
    arbitrary: fc
      .constantFrom('ExpireApproval' as const, 'RemindApprovers' as const, 'LapseApproval' as const)
      .map((type): Move => (state, at) => ({ type, at, approvalId: approvalIdOf(state) })),
  },
);

export interface Step {
  readonly command: ToolCallCommand;
  readonly before: ToolCallState;
  readonly after: ToolCallState;
  readonly events: readonly ToolCallEvent[];
}

/** Random lives of a call: a request, then any commands, with increasing times. Only accepted commands add a step. */
export const lives: fc.Arbitrary<readonly Step[]> = fc
  .tuple(requests, fc.array(fc.tuple(moves, fc.integer({ min: 0, max: 15 })), { maxLength: 40, size: 'max' }))
  .map(([first, rest]) => {
    const steps: Step[] = [];
    let state = initialState();
    let at = first.at;
    for (const [move, minutes] of [[() => first, 0] as const, ...rest]) {
      at += minutes * minuteMs;
      const before = state;
      const command = move(state, at);
      const decision = decide(command, state);
      if (decision.status === 'refused') continue;
      state = decision.events.reduce(evolve, state);
      steps.push({ command, before, after: state, events: decision.events });
    }
    return steps;
  });
