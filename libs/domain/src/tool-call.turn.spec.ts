import { describe, expect, it } from '@jest/globals';
import type { ToolCallEvent } from '@countersign/contracts';
import { toolCallDecider } from './tool-call.decider.js';
import { dueAt } from './tool-call.deadlines.js';
import { callState } from './tool-call.state.js';
import type { TakeTurn, ToolCallCommand } from './tool-call.commands.js';
import { queuedIn, queueOf } from './tool-call.turn.js';
import {
  ask,
  callId,
  cancel,
  claim,
  deny,
  describeBy,
  expire,
  firstApproval,
  minute,
  proposal,
  request,
  requestAllowed,
  requestBlocked,
  requirement,
  respond,
  secondApproval,
  stage,
  stored,
  verdict,
} from './testing/fixtures.js';
import { given, history, stateAfter } from './testing/given.js';

const sequential = { batchMode: 'sequential' as const };
const judged = { outcome: 'allow', verdict: verdict('allow') } as const;
const turn = (n: number, change: Partial<TakeTurn> = {}): TakeTurn => ({
  ...{ type: 'TakeTurn', at: minute(n), round: 1, approvalId: firstApproval, judgement: judged },
  ...change,
});
const allowed = history(requestAllowed({ ...sequential, needsApproval: false }));
const asked = history(request({}, sequential));
const types = (events: readonly ToolCallEvent[]) => events.map(({ type }) => type);
const questionOf = (events: readonly ToolCallEvent[]) => {
  const state = stateAfter(events);
  return state.status === 'recorded' ? queuedIn(state)?.question : undefined;
};

describe('a sequential call', () => {
  it.each([
    ['allowed', allowed, 'ToolCallAllowed'],
    ['asked about', asked, 'ApprovalRequested'],
  ])('is queued, and %s at its turn', (_, events, type) => {
    expect(types(events)).toEqual(['ToolCallRequested', 'ToolCallQueued']);
    expect(callState(stateAfter(events))).toBe('awaiting_approval');
    given(events).when(claim()).thenRefused('not-approved');
    given(events).when(respond('alice')).thenRefused('unknown-approval');
    const at = history(...commandsOf(events), turn(90));
    expect(types(at)).toEqual(['ToolCallRequested', 'ToolCallQueued', type]);
    given(at).when(turn(91)).thenNothing();
  });

  it('has no deadline before its turn, and the whole time from then on', () => {
    expect(dueAt(stateAfter(asked))).toBeNull();
    given(asked)
      .when(turn(90))
      .thenAccepted({ requestedAt: stored(90), expiresAt: stored(150) });
  });

  it('that the policy blocks has no place', () => {
    const blocked = { ...requestBlocked(), call: proposal(sequential) };
    expect(types(history(blocked))).toEqual(['ToolCallRequested', 'ToolCallBlocked']);
  });

  it('is cancelled before its turn, and has none then', () => {
    const after = [...asked, ...decided(cancel(), asked)];
    expect(callState(stateAfter(after))).toBe('cancelled');
    given(after).when(turn(7)).thenNothing();
  });

  it('is asked about at its turn where its worker asks for it, or repeats it so, in the meantime', () => {
    for (const stricter of [ask({ description: 'why' }), request({}, sequential)]) {
      const after = [...allowed, ...decided(stricter, allowed)];
      expect(types(after).at(-1)).toBe('ToolCallQueued');
      expect(types([...after, ...decided(turn(5), after)]).at(-1)).toBe('ApprovalRequested');
    }
  });

  it('is not asked about less because a repeat is laxer', () => {
    given(asked).when(requestAllowed(sequential)).thenNothing();
    given(asked).when(ask()).thenRefused('already-pending');
  });

  it('keeps the words of the question that come before its turn, and the first ones', () => {
    const bare = history(request({}, { ...sequential, reason: null, description: 'first' }));
    const after = [...bare, ...decided(describeBy('agent', { reason: 'late', description: 'second' }), bare)];
    expect(questionOf(after)).toMatchObject({ reason: 'late', description: 'first' });
  });

  it('waits for a turn again when it is asked about again', () => {
    const expired = history(...commandsOf(asked), turn(1), expire(minute(61)));
    const again = [...expired, ...decided(ask({ round: 2, approvalId: secondApproval, at: minute(70) }), expired)];
    expect(types(again).at(-1)).toBe('ToolCallQueued');
    given(again)
      .when(turn(80, { round: 2, approvalId: secondApproval }))
      .thenAccepted({ approvalId: secondApproval, round: 2, expiresAt: stored(140) });
    // Seen at its first place.
    given(again).when(turn(80)).thenNothing();
  });

  it('ends at its turn when its values are erased: no one is asked about nothing', () => {
    const erased = asked.map((event) =>
      event.type === 'ToolCallRequested' ? { ...event, data: { ...event.data, salt: null } } : event,
    );
    given(erased)
      .when(turn(2, { judgement: null }))
      .thenAccepted({ cancelledBy: 'countersign', approvalId: null });
  });

  it.each([allowed, asked])('ends at its turn when a denial has ended its run, and nobody is asked', (...events) => {
    const ended = turn(2, { endedBy: 'tc_other', judgement: null });
    const reason = 'the call tc_other of this run was denied, which ends the run';
    const after = [...events, ...decided(ended, events)];
    expect(types(after)).toEqual(['ToolCallRequested', 'ToolCallQueued', 'ToolCallCancelled']);
    expect(after.at(-1)?.data).toMatchObject({ reason, cancelledBy: 'countersign', approvalId: null });
    given(after).when(claim()).thenRefused('not-approved');
  });

  it('that has had its turn keeps it when a denial has ended its run', () => {
    const taken = [...asked, ...decided(turn(1), asked)];
    given(taken)
      .when(turn(2, { endedBy: 'tc_other', judgement: null }))
      .thenNothing();
  });

  it.each([
    ['allowed', allowed],
    ['asked about', asked],
  ])('that was to be %s is blocked at its turn where the policy forbids it now', (_, events) => {
    const after = [...events, ...decided(turn(2, { judgement: requestBlocked().judgement }), events)];
    expect(types(after).at(-1)).toBe('ToolCallBlocked');
    given(after).when(claim()).thenRefused('not-approved');
  });

  it('is asked about at its turn by the policy in force, where that asks more', () => {
    const two = requirement({ stages: [stage({ approve: 2 })] });
    const ruled = { ...verdict(), ruleId: 'now' };
    const stricter = turn(2, { judgement: { outcome: 'require', verdict: ruled, requirement: two } });
    const shown = { verdict: ruled, requirement: two, reason: 'the customer asked', requestedBy: 'agent', round: 1 };
    for (const events of [allowed, asked]) given(events).when(stricter).thenAccepted(shown);
    const same = turn(2, { judgement: { outcome: 'require', verdict: ruled, requirement: requirement() } });
    given(asked).when(same).thenAccepted({ verdict: verdict(), requirement: requirement() });
  });

  it('ends at its turn where the policy would refuse to ask about a new call', () => {
    const judgement = {
      ...({ outcome: 'require', verdict: verdict() } as const),
      requirement: requirement({ requireCheckedSchema: true }),
    };
    given(allowed)
      .when(turn(2, { judgement }))
      .thenAccepted({ cancelledBy: 'countersign', reason: expect.stringContaining('schema') });
    const alone = history(requestAllowed({ ...sequential, needsApproval: false, onBehalfOf: 'alice' }));
    const asks = { ...judgement, requirement: requirement() };
    const approvers = [{ names: ['alice'], groups: [] }];
    given(alone)
      .when(turn(2, { judgement: asks, approvers }))
      .thenAccepted({ cancelledBy: 'countersign', reason: expect.stringContaining('approvers') });
  });

  it('denied by its agent while it waits, ends', () => {
    const verdict = { ...requestBlocked().judgement.verdict, ruleId: 'deniedInCode' };
    const denied = { ...requestBlocked(), call: proposal(sequential) };
    const judgement = { outcome: 'block' as const, verdict, reason: 'no' };
    expect(types(decided({ ...denied, judgement }, asked))).toEqual(['ToolCallCancelled']);
  });
});

it('an independent call never waits', () => {
  given(history(requestAllowed())).when(turn(1)).thenNothing();
  expect(types(history(request(), deny('alice')))).not.toContain('ToolCallQueued');
});

it('calls wait in one queue if they are of one principal, one run, and inside the same call', () => {
  const link = { callId, agentId: 'a', toolName: 't', runId: 'run-1', requestedBy: 'agent' };
  const names = [
    {},
    { requestedBy: 'other' },
    { runId: 'run-2' },
    { tenant: 'other' },
    { chain: [link] },
    { chain: [link, { ...link, callId: 'tc_other' }] },
  ].map((change) => queueOf(proposal(change)));
  expect(new Set(names).size).toBe(names.length);
  expect(queueOf(proposal({ toolName: 'other', agentId: 'other' }))).toBe(names[0]);
});

function decided(command: ToolCallCommand, events: readonly ToolCallEvent[]): readonly ToolCallEvent[] {
  const decision = toolCallDecider.decide(command, stateAfter(events));
  if (decision.status === 'refused') throw new Error(decision.refusal.detail);
  return decision.events;
}

/** The request of a history that has nothing else. */
function commandsOf(events: readonly ToolCallEvent[]): readonly ToolCallCommand[] {
  return [events === allowed ? requestAllowed({ ...sequential, needsApproval: false }) : request({}, sequential)];
}
