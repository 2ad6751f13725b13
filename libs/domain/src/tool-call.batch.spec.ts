import { describe, expect, it } from '@jest/globals';
import type { ToolCallEvent } from '@countersign/contracts';
import { endingOf } from './tool-call.batch.js';
import type { BatchFate } from './tool-call.command-base.js';
import type { CommitToBatch, ToolCallCommand } from './tool-call.commands.js';
import { toolCallDecider } from './tool-call.decider.js';
import { dueAt } from './tool-call.deadlines.js';
import { callState, currentApproval } from './tool-call.state.js';
import {
  ask,
  callId,
  cancel,
  claim,
  deny,
  digest,
  editBy,
  expire,
  firstApproval,
  lapseApproval,
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
  submit,
} from './testing/fixtures.js';
import { given, history, stateAfter } from './testing/given.js';

const siblingId = 'tc_bbbbbbbbbbbbbbbbbbbbbbbbbb';
const batch = { batchId: 'step-1', batchMode: 'all-or-nothing' as const, batchCallIds: [callId, siblingId] };

const allowed = history(requestAllowed(batch));
const waiting = history(request({}, batch));
const approved = history(request({}, batch), respond('alice'));
const asked = [...allowed, ...history(requestAllowed(), ask()).slice(2)];

const committedEvent = (n: number, approvalId: string | null = null): ToolCallEvent => ({
  type: 'ToolCallCommitted',
  data: { approvalId, committedAt: stored(n) },
});
const claimedIn = (events: readonly ToolCallEvent[], fate?: BatchFate) =>
  given(events).when(claim(fate === undefined ? {} : { batch: fate }));
const types = (events: readonly ToolCallEvent[]) => events.map(({ type }) => type);

describe('the claim of a member', () => {
  it.each([undefined, 'open', 'broken'] as const)('is refused in a batch that is %s', (fate) => {
    claimedIn(allowed, fate).thenRefused('batch-incomplete');
    given(history(requestAllowed({ ...batch, clientExecuted: true })))
      .when({ ...submit(), ...(fate === undefined ? {} : { batch: fate }) })
      .thenRefused('batch-incomplete');
  });

  it('is given in a batch that has begun', () => {
    expect(types(history(requestAllowed(batch), claim({ batch: 'begun' })))).toContain('ExecutionClaimed');
    const byClient = history(requestAllowed({ ...batch, clientExecuted: true }), { ...submit(), batch: 'begun' });
    expect(types(byClient)).toContain('ExecutionSucceeded');
  });

  it('has no end of its right to run once the batch has begun', () => {
    given(approved)
      .when(claim({ at: minute(65) }))
      .thenRefused('approval-lapsed');
    expect(types(history(request({}, batch), respond('alice'), claim({ at: minute(65), batch: 'begun' })))).toContain(
      'ExecutionClaimed',
    );
  });

  it('asks no batch where the calls are independent, or where there is one call', () => {
    for (const change of [{ ...batch, batchMode: 'independent' as const }, { batchMode: 'all-or-nothing' as const }]) {
      expect(types(history(requestAllowed(change), claim()))).toContain('ExecutionClaimed');
    }
  });
});

describe('a member that is, or was, permitted', () => {
  it.each([
    ['cancelled while it is allowed', allowed, cancel()],
    ['cancelled while it is approved', approved, cancel()],
    ['cancelled while people are asked about it', asked, cancel()],
    ['lapsed', approved, lapseApproval(minute(65))],
    ['denied by a new question', asked, deny('alice')],
    ['expired by a new question', asked, expire(minute(61))],
  ] as const)('can be %s only in a broken batch', (_, events, command) => {
    given(events).when(command).thenRefused('batch-begun');
    given(events)
      .when({ ...command, batch: 'open' })
      .thenRefused('batch-begun');
    const decided = stateAfter([...events, ...eventsOf(events, { ...command, batch: 'broken' })]);
    expect(['cancelled', 'expired', 'denied']).toContain(callState(decided));
  });

  it('is never cancelled, asked about again or denied once the batch has begun', () => {
    given(allowed)
      .when({ ...cancel(), batch: 'begun' })
      .thenRefused('batch-begun');
    given(asked)
      .when({ ...deny('alice'), batch: 'begun' })
      .thenRefused('batch-begun');
    given(allowed)
      .when(ask({ batch: 'begun' }))
      .thenRefused('batch-begun');
    given(allowed)
      .when(ask({ batch: 'broken' }))
      .thenRefused('batch-incomplete');
  });

  it('may still be approved by a question that came too late', () => {
    expect(callState(stateAfter([...asked, ...eventsOf(asked, respond('alice'))]))).toBe('approved');
  });
});

describe('a member that has waited for people ever since', () => {
  it.each([
    ['cancelled', cancel()],
    ['denied', deny('alice')],
    ['expired', expire()],
  ] as const)('can be %s without a word of the batch: the batch cannot have begun', (state, command) => {
    expect(callState(stateAfter([...waiting, ...eventsOf(waiting, command)]))).toBe(state);
  });
});

describe('a member whose batch has begun', () => {
  it('does not lapse: it takes note, and has no deadline any more', () => {
    given(approved)
      .when({ ...lapseApproval(minute(65)), batch: 'begun' })
      .then([committedEvent(65)]);
    const state = stateAfter([...approved, committedEvent(65)]);
    expect([callState(state), dueAt(state)]).toEqual(['approved', null]);
    claimedIn([...approved, committedEvent(65)]).then([
      expect.objectContaining({ type: 'ExecutionClaimed' }) as unknown as ToolCallEvent,
    ]);
    given([...approved, committedEvent(65)])
      .when({ ...cancel(minute(66)), batch: 'broken' })
      .thenRefused('batch-begun');
  });

  it.each([
    ['at its expiry', { ...expire(minute(61)), batch: 'begun' } as const, 61],
    ['at once', { type: 'CommitToBatch', at: minute(2), batch: 'begun' } satisfies CommitToBatch, 2],
  ])('closes a question that came too late %s, and is as it was before', (_, command, n) => {
    given(asked)
      .when(command)
      .then([committedEvent(n, firstApproval)]);
    const state = stateAfter([...asked, committedEvent(n, firstApproval)]);
    expect([callState(state), dueAt(state)]).toEqual(['allowed', null]);
    expect(currentApproval(state)?.resolution.status).toBe('cancelled');
    given([...asked, committedEvent(n, firstApproval)])
      .when(ask({ round: 2, approvalId: secondApproval }))
      .thenRefused('batch-begun');
  });

  it('runs with the arguments that were allowed, not with an edit of the question that came too late', () => {
    const twoOfAll = requirement({ stages: [stage({ approve: 2 })] });
    const events = [...allowed, ...eventsOf(allowed, ask({ requirement: twoOfAll }))];
    const edited = [...events, ...eventsOf(events, editBy('alice')), committedEvent(6, firstApproval)];
    const state = stateAfter(edited);
    expect(state.status === 'recorded' && state.action.actionDigest).toBe(digest);
  });

  it.each([
    ['nothing was asked', allowed, 'begun'],
    ['the question is the first', waiting, 'begun'],
    ['the batch has not begun', asked, 'open'],
    ['it has taken note already', [...asked, committedEvent(2, firstApproval)], 'begun'],
    ['nothing is recorded of it', [], 'begun'],
  ] as const)('takes no note where %s', (_, events, fate) => {
    given(events)
      .when({ type: 'CommitToBatch', at: minute(3), batch: fate })
      .thenNothing();
  });
});

describe('a request that repeats another', () => {
  it.each([
    ['by another principal', { requestedBy: 'mallory' }],
    ['in another mode', { batchMode: 'independent' as const }],
    ['under another batchId', { batchId: 'step-2' }],
    ['with another list', { batchCallIds: [callId] }],
  ])('is refused %s', (_, change) => {
    given(allowed)
      .when(requestAllowed({ ...batch, ...change }))
      .thenRefused('tool-call-mismatch');
  });

  it('adds nothing with its members in another order', () => {
    given(allowed)
      .when(requestAllowed({ ...batch, batchCallIds: [siblingId, callId] }))
      .thenNothing();
  });

  it.each([
    ['sequential', { batchMode: 'sequential' as const }],
    ['all-or-nothing', batch],
  ])('adds nothing where it asks for the %s mode that a rule gave the call', (_, of) => {
    const ruled = history(requestAllowed({ ...of, batchRuleId: 'rule' }));
    given(ruled).when(requestAllowed(of)).thenNothing();
    given(ruled)
      .when(requestAllowed({ batchId: of === batch ? batch.batchId : null }))
      .thenNothing();
  });

  it('is refused where it asks for a mode that the call does not have', () => {
    const ruled = history(requestAllowed({ batchMode: 'sequential', batchRuleId: 'rule' }));
    const strict = { ...batch, batchId: null };
    given(ruled).when(requestAllowed(strict)).thenRefused('tool-call-mismatch');
    given(history(requestAllowed()))
      .when(requestAllowed({ batchMode: 'sequential' }))
      .thenRefused('tool-call-mismatch');
    const other = { ...batch, batchCallIds: [callId, 'tc_other'] };
    given(history(requestAllowed({ ...batch, batchRuleId: 'rule' })))
      .when(requestAllowed(other))
      .thenRefused('tool-call-mismatch');
  });

  it('adds nothing for other calls, where the calls are independent', () => {
    given(history({ ...requestAllowed(), call: proposal({ batchCallIds: [callId, siblingId] }) }))
      .when(requestAllowed())
      .thenNothing();
  });
});

describe('how a call ended without a run', () => {
  it.each([
    ['blocked', history(requestBlocked()), 'never', 'countersign'],
    ['denied', history(request(), deny('alice', { reason: 'no' })), 'no', 'alice'],
    ['denied', history(request(), deny('alice')), 'it was denied', 'alice'],
    ['expired', history(request(), expire()), 'no person answered in time', 'countersign'],
    ['cancelled', history(request(), cancel()), 'no longer needed', 'agent'],
  ] as const)('is told: %s', (state, events, reason, by) => {
    const call = stateAfter(events);
    expect(call.status === 'recorded' && endingOf(call)).toEqual({ state, reason, by });
  });

  it('is nothing for a call that is open or was claimed', () => {
    for (const events of [history(requestAllowed()), history(requestAllowed(), claim())]) {
      const call = stateAfter(events);
      expect(call.status === 'recorded' && endingOf(call)).toBeUndefined();
    }
  });
});

function eventsOf(events: readonly ToolCallEvent[], command: ToolCallCommand): readonly ToolCallEvent[] {
  const decision = toolCallDecider.decide(command, stateAfter(events));
  if (decision.status === 'refused') throw new Error(`${command.type}: ${decision.refusal.code}`);
  return decision.events;
}
