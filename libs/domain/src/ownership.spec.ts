import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { ToolCallEvent } from '@countersign/contracts';
import type { Reach } from './ownership.js';
import {
  ask,
  cancel,
  claim,
  describeBy,
  expire,
  firstApproval,
  minute,
  proposal,
  report,
  request,
  requestAllowed,
  requirement,
  respond,
  secondApproval,
  stored,
  submit,
  verdict,
} from './testing/fixtures.js';
import { given, history, stateAfter } from './testing/given.js';
import type { ToolCallCommand } from './tool-call.commands.js';
import { toolCallDecider } from './tool-call.decider.js';
import { callState, nextRound } from './tool-call.state.js';
import type { ToolCallState } from './tool-call.state.js';

type ByOwner = (principal: string, reach: Reach) => ToolCallCommand;

const again = (principal: string, reach: Reach) =>
  ask({ round: 2, approvalId: secondApproval, at: minute(70), requestedBy: principal, reach });

const pending = history(request({}, { reason: null, description: null }));

const cases: readonly (readonly [string, readonly ToolCallEvent[], ByOwner])[] = [
  ['asks for the approval', history(requestAllowed()), (requestedBy, reach) => ask({ requestedBy, reach })],
  ['asks again after expiry', history(request(), expire()), again],
  ['describes', pending, (describedBy, reach) => describeBy(describedBy, { reach })],
  ['cancels', pending, (cancelledBy, reach) => cancel(minute(6), { cancelledBy, reach })],
  [
    'submits the output',
    history(requestAllowed({ clientExecuted: true })),
    (submittedBy, reach) => submit(undefined, minute(10), { submittedBy, reach }),
  ],
];

describe('the owner of a tool call', () => {
  it.each(cases)('%s, and so does an admin, but no other principal', (_, events, command) => {
    given(events).when(command('eve', 'own')).thenRefused('forbidden');
    // Another case is another principal.
    given(events).when(command('Agent', 'own')).thenRefused('forbidden');
    expect(eventsOf(events, command('agent', 'own'))).toHaveLength(1);
    expect(eventsOf(events, command('admin', 'any'))).toHaveLength(1);
  });

  it.each(cases.filter(([name]) => name !== 'submits the output'))(
    '%s, and any other principal is refused before the state of the call is told',
    (_, __, command) => {
      for (const events of [history(request(), respond('alice')), history(requestAllowed(), claim(), report())]) {
        given(events).when(command('eve', 'own')).thenRefused('forbidden');
      }
    },
  );

  it('alone repeats its request', () => {
    given(history(request()))
      .when(request({}, { requestedBy: 'eve' }))
      .thenRefused('tool-call-mismatch');
    given(history(request())).when(request()).thenNothing();
  });
});

function eventsOf(events: readonly ToolCallEvent[], command: ToolCallCommand): readonly ToolCallEvent[] {
  const decision = toolCallDecider.decide(command, stateAfter(events));
  return decision.status === 'accepted' ? decision.events : [];
}

describe('a repeat of a request', () => {
  const allowed = history(requestAllowed({ needsApproval: false }));

  it('opens the approval when it is stricter and the call is not claimed', () => {
    given(allowed)
      .when({ ...request(), at: minute(3) })
      .then([
        {
          type: 'ApprovalRequested',
          data: {
            approvalId: firstApproval,
            round: 1,
            actionDigest: proposal().actionDigest,
            verdict: verdict(),
            requirement: requirement(),
            reason: 'the customer asked',
            description: 'Refund 100',
            requestedBy: 'agent',
            requestedAt: stored(3),
            expiresAt: stored(63),
          },
        },
      ]);
  });

  it('adds nothing when the approval that it wants was asked for already', () => {
    given([...allowed, ...eventsOf(allowed, request())])
      .when(request())
      .thenNothing();
  });

  it('is refused when it is stricter and the call was claimed', () => {
    for (const rest of [[claim()], [claim(), report()]]) {
      given(history(requestAllowed({ needsApproval: false }), ...rest))
        .when(request())
        .thenRefused('tool-call-mismatch');
    }
  });

  it('adds nothing when it is laxer', () => {
    given(history(request()))
      .when(requestAllowed({ needsApproval: false }))
      .thenNothing();
  });

  it.each([
    ['idempotent', { idempotent: true }],
    ['executed by the client', { clientExecuted: true }],
    ['of another batch', { batchId: 'step-2' }],
    ['of another batch mode', { batchMode: 'all-or-nothing' }],
  ] as const)('is refused when the call is now %s', (_, change) => {
    given(history(request())).when(request({}, change)).thenRefused('tool-call-mismatch');
    given(allowed).when(requestAllowed(change)).thenRefused('tool-call-mismatch');
  });

  it('adds nothing from another batch when the call has ended, and is refused when that is all-or-nothing', () => {
    const ended = history(requestAllowed({ needsApproval: false }), claim(), report());
    given(ended)
      .when(requestAllowed({ needsApproval: false, batchId: 'step-2' }))
      .thenNothing();
    given(ended)
      .when(requestAllowed({ needsApproval: false, batchId: 'step-2', batchMode: 'all-or-nothing' }))
      .thenRefused('tool-call-mismatch');
    given(history(requestAllowed({ needsApproval: false }), claim()))
      .when(requestAllowed({ needsApproval: false, batchId: 'step-2' }))
      .thenRefused('tool-call-mismatch');
  });

  it('is refused when an all-or-nothing batch has other members, and independent calls may come with others', () => {
    const members = [proposal().callId, 'tc_bbbbbbbbbbbbbbbbbbbbbbbbbb'];
    const batch = (batchMode: 'all-or-nothing' | 'independent', batchCallIds: string[]) =>
      request({}, { batchMode, batchCallIds });
    given(history(batch('all-or-nothing', members)))
      .when(batch('all-or-nothing', members.slice(0, 1)))
      .thenRefused('tool-call-mismatch');
    given(history(batch('all-or-nothing', members)))
      .when(batch('all-or-nothing', members.toReversed()))
      .thenNothing();
    given(history(batch('independent', members)))
      .when(batch('independent', []))
      .thenNothing();
  });
});

describe('words that come later', () => {
  const words = { reason: 'harmless test database', description: 'approved by the CFO' };

  it('are added to those of the first round, and never replace them', () => {
    const later = ask({ ...words, round: 2, approvalId: secondApproval, at: minute(70) });
    const [asked] = eventsOf(history(request(), expire()), later);
    expect(asked?.data).toMatchObject({
      reason: 'the customer asked\n\nAdded later by agent: harmless test database',
      description: 'Refund 100\n\nAdded later by agent: approved by the CFO',
    });
  });

  it('are added to those of the request of an allowed call', () => {
    const [asked] = eventsOf(history(requestAllowed()), ask(words));
    expect(asked?.data).toMatchObject({ description: 'Refund 100\n\nAdded later by agent: approved by the CFO' });
  });

  it('keep what was added while the first round was pending', () => {
    const events = history(request({}, { reason: null, description: null }), describeBy('agent'), expire());
    const [asked] = eventsOf(events, ask({ ...words, round: 2, approvalId: secondApproval, at: minute(70) }));
    expect(asked?.data).toMatchObject({
      reason: 'a test database\n\nAdded later by agent: harmless test database',
      description: 'approved by the CFO',
    });
  });

  it('are said once when they are the same', () => {
    const same = ask({ reason: 'the customer asked', description: 'Refund 100' });
    const [asked] = eventsOf(history(requestAllowed()), same);
    expect(asked?.data).toMatchObject({ reason: 'the customer asked', description: 'Refund 100' });
  });
});

describe('a call that the policy blocks when people are asked', () => {
  const blocking = { verdict: verdict('block') };

  it.each([
    ['allowed', history(requestAllowed()), ask(blocking)],
    ['expired', history(request(), expire()), { ...again('agent', 'own'), ...blocking }],
  ] as const)('is blocked, when it was %s', (_, events, command) => {
    const made = eventsOf(events, command);
    expect(made).toMatchObject([
      { type: 'ToolCallBlocked', data: { verdict: verdict('block'), reason: 'amount above 50' } },
    ]);
    expect(callState(stateAfter([...events, ...made]))).toBe('blocked');
  });
});

describe('the commands of an intruder', () => {
  const intruders = fc.constantFrom('eve', 'Agent', ' agent', 'kafka');
  const move = (who: string, kind: number, at: number, state: ToolCallState): ToolCallCommand => {
    const round = nextRound(state);
    const approvalId = `${firstApproval.slice(0, -1)}${String(round)}`;
    switch (kind) {
      case 0:
        return ask({ at, round, approvalId, requestedBy: who });
      case 1:
        return describeBy(who, { at });
      case 2:
        return cancel(at, { cancelledBy: who });
      case 3:
        return submit(undefined, at, { submittedBy: who });
      default:
        return { ...request({}, { requestedBy: who }), at };
    }
  };
  const lives = fc.constantFrom(
    history(request()),
    history(requestAllowed({ needsApproval: false })),
    history(requestAllowed({ needsApproval: false, clientExecuted: true })),
    history(request(), respond('alice')),
    history(request(), expire()),
    history(requestAllowed({ needsApproval: false }), claim()),
  );

  it('is refused, in every state of the call', () => {
    fc.assert(
      fc.property(lives, fc.array(fc.tuple(intruders, fc.nat(4), fc.nat(90)), { minLength: 1 }), (events, sent) => {
        const state = stateAfter(events);
        for (const [who, kind, minutes] of sent) {
          expect(toolCallDecider.decide(move(who, kind, minute(minutes), state), state).status).toBe('refused');
        }
      }),
    );
  });
});
