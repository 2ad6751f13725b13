import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { EventData, Requirement, ToolCallEvent } from '@countersign/contracts';
import { digest, minute } from './testing/fixtures.js';
import { stateAfter } from './testing/given.js';
import { lives } from './testing/lives.js';
import { dueAt, dueCommand } from './tool-call.deadlines.js';
import { toolCallDecider } from './tool-call.decider.js';
import { callState, currentApproval, isSettled } from './tool-call.state.js';

const { decide, evolve, initialState } = toolCallDecider;

const logs = lives.map((steps) => steps.flatMap(({ events }) => events));

function always(property: (events: readonly ToolCallEvent[]) => void) {
  fc.assert(fc.property(logs, property), { numRuns: 2000 });
}

/** The approval that an event resolved. */
function resolvedBy(event: ToolCallEvent): string | null {
  switch (event.type) {
    case 'ApprovalResponded':
      return event.data.resolution === 'pending' ? null : event.data.approvalId;
    case 'ApprovalExpired':
    case 'ToolCallCancelled':
      return event.data.approvalId;
    default:
      return null;
  }
}

const nameOf = (principal: string) => principal.trim().toLowerCase();

/** The last event of that type before an index. */
function lastBefore<T extends ToolCallEvent['type']>(events: readonly ToolCallEvent[], index: number, type: T) {
  const found = events.slice(0, index).findLast((event) => event.type === type);
  return found as Extract<ToolCallEvent, { type: T }> | undefined;
}

/** Computed from the log alone, without the decider's code: the people whose approval of this digest is valid. */
function agreeingTo(actionDigest: string, approvalId: string, events: readonly ToolCallEvent[]): ReadonlySet<string> {
  const agreeing = new Map<string, boolean>();
  for (const { type, data } of events) {
    if (type === 'ResponseWithdrawn' && data.approvalId === approvalId) agreeing.delete(nameOf(data.withdrawnBy));
    if (type !== 'ApprovalResponded' || data.approvalId !== approvalId) continue;
    agreeing.set(nameOf(data.respondedBy), data.decision.type !== 'deny' && data.actionDigest === actionDigest);
  }
  return new Set([...agreeing].filter(([, agrees]) => agrees).map(([person]) => person));
}

const leastPeople = (required: Requirement) =>
  required.stages.reduce(
    (sum, { mode, approve, groups }) => sum + (mode === 'all-of' && groups !== null ? groups.length : approve),
    0,
  );

function expectApproved(events: readonly ToolCallEvent[], index: number, claimed: EventData<'ExecutionClaimed'>) {
  const asked = lastBefore(events, index, 'ApprovalRequested');
  if (asked === undefined) {
    expect(lastBefore(events, index, 'ToolCallAllowed')).toBeDefined();
    expect(claimed.actionDigest).toBe(digest);
    return;
  }
  const answered = lastBefore(events, index, 'ApprovalResponded');
  expect(answered?.data).toMatchObject({
    approvalId: asked.data.approvalId,
    resolution: 'approved',
    actionDigest: claimed.actionDigest,
  });
  if (answered?.data.automatic === true) return;
  const people = agreeingTo(claimed.actionDigest, asked.data.approvalId, events.slice(0, index));
  expect(people.size).toBeGreaterThanOrEqual(leastPeople(asked.data.requirement));
}

describe('any sequence of commands on a tool call', () => {
  it('an approval has at most one resolution', () => {
    always((events) => {
      const resolved = events.map(resolvedBy).filter((approvalId) => approvalId !== null);
      expect(new Set(resolved).size).toBe(resolved.length);
    });
  });

  it('an approval is pending at most one at a time', () => {
    always((events) => {
      const pending = events.map((_, index) => {
        const state = stateAfter(events.slice(0, index + 1));
        return state.status === 'recorded'
          ? state.approvals.filter(({ resolution }) => resolution.status === 'pending').length
          : 0;
      });
      expect(Math.max(0, ...pending)).toBeLessThanOrEqual(1);
    });
  });

  it('nothing is claimed without an approval, or an allowance, of exactly that digest', () => {
    always((events) => {
      events.forEach((event, index) => {
        if (event.type === 'ExecutionClaimed') expectApproved(events, index, event.data);
      });
    });
  });

  it('a claim follows another only when that was released, and never by itself unless the tool is idempotent', () => {
    always((events) => {
      let open = false;
      let attempts = 0;
      const idempotent = lastBefore(events, 1, 'ToolCallRequested')?.data.idempotent;
      for (const { type, data } of events) {
        if (type === 'ExecutionLapsed') expect(idempotent).toBe(true);
        if (type === 'ExecutionLapsed' || (type === 'ExecutionReconciled' && data.status === 'retry')) open = false;
        if (type !== 'ExecutionClaimed') continue;
        expect(open).toBe(false);
        expect(data.attempt).toBe(attempts + 1);
        attempts = data.attempt;
        open = true;
      }
    });
  });

  it('a call has at most one outcome', () => {
    always((events) => {
      const outcomes = events.filter(({ type }) => type === 'ExecutionSucceeded' || type === 'ExecutionFailed');
      expect(outcomes.length).toBeLessThanOrEqual(1);
    });
  });

  it('the requester never answers where four eyes are required', () => {
    always((events) => {
      events.forEach((event, index) => {
        if (event.type !== 'ApprovalResponded' || event.data.automatic) return;
        const asked = lastBefore(events, index, 'ApprovalRequested');
        if (asked?.data.requirement.fourEyes !== true) return;
        const requested = lastBefore(events, index, 'ToolCallRequested')?.data;
        const askers = ['agent', requested?.owner, requested?.onBehalfOf].filter((one) => one !== undefined);
        expect(askers.map(nameOf)).not.toContain(nameOf(event.data.respondedBy));
        expect(askers.map(nameOf)).not.toContain(nameOf(event.data.onBehalfOf ?? ''));
      });
    });
  });

  it('a delegate votes for a person who delegated to them, with the groups of that person', () => {
    fc.assert(
      fc.property(lives, (steps) => {
        for (const { command, events } of steps) {
          for (const event of events) {
            if (event.type !== 'ApprovalResponded' || event.data.onBehalfOf === null) continue;
            const { onBehalfOf, groups } = event.data;
            const delegators = command.type === 'RespondToApproval' ? command.responder.delegators : undefined;
            expect(delegators).toContainEqual({ principal: onBehalfOf, groups });
          }
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('no person has two votes that count', () => {
    fc.assert(
      fc.property(lives, (steps) => {
        for (const { after } of steps) {
          const counted = (currentApproval(after)?.votes ?? []).filter(({ status }) => status === 'counted');
          const names = counted.flatMap(({ respondedBy, onBehalfOf }) => [
            ...new Set([nameOf(respondedBy), nameOf(onBehalfOf ?? respondedBy)]),
          ]);
          expect(new Set(names).size).toBe(names.length);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('a repeated command adds nothing', () => {
    fc.assert(
      fc.property(lives, (steps) => {
        for (const { command, after } of steps) {
          const again = decide(command, after);
          if (again.status === 'accepted') expect(again.events).toEqual([]);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('a call that has its result keeps it, unless it is asked about again or a person looks into it', () => {
    fc.assert(
      fc.property(lives, (steps) => {
        for (const { before, events, command } of steps) {
          const name = callState(before);
          if (!isSettled(before) || events.length === 0) continue;
          const isReopening = name === 'expired' && command.type === 'RequestApproval';
          const isFoundOut = name === 'unknown' && ['ReportExecution', 'ReconcileExecution'].includes(command.type);
          // The client ran it after its right to run had ended: recorded as late.
          const isLate = name === 'expired' && command.type === 'SubmitClientOutput';
          expect(isReopening || isFoundOut || isLate).toBe(true);
        }
      }),
      { numRuns: 2000 },
    );
  });

  it('every due command is accepted and changes the log, and their sequence ends', () => {
    fc.assert(
      fc.property(lives, (steps) => {
        let state = steps.at(-1)?.after ?? initialState();
        for (let count = 0; ; count += 1) {
          expect(count).toBeLessThan(10);
          const deadline = dueAt(state);
          if (deadline === null) return;
          expect(dueCommand(state, deadline.atMs - 1)).toBeNull();
          const command = dueCommand(state, deadline.atMs);
          expect(command).not.toBeNull();
          if (command === null) return;
          const decision = decide(command, state);
          expect(decision).toMatchObject({ status: 'accepted', events: [expect.anything()] });
          if (decision.status === 'accepted') state = decision.events.reduce(evolve, state);
        }
      }),
      { numRuns: 1000 },
    );
  });

  it('evolve takes any event in any state', () => {
    const shuffled = fc
      .array(logs, { minLength: 1, maxLength: 3 })
      .map((several) => several.flat())
      .chain((events) => fc.shuffledSubarray(events, { minLength: 0, maxLength: events.length }));
    fc.assert(
      fc.property(shuffled, (events) => {
        const state = stateAfter(events);
        callState(state);
        dueAt(state);
        dueCommand(state, minute(99_999));
      }),
      { numRuns: 2000 },
    );
  });

  it('a refusal depends on the state alone: the decider alters nothing that it is given', () => {
    fc.assert(
      fc.property(lives, (steps) => {
        for (const { command, before, events } of steps) {
          expect(decide(structuredClone(command), structuredClone(before))).toEqual({ status: 'accepted', events });
        }
      }),
    );
  });

  it('reaches every event, so that none of these promises is empty', () => {
    const seen = new Set<string>();
    fc.assert(
      fc.property(logs, (events) => {
        for (const { type } of events) seen.add(type);
      }),
      { numRuns: 3000, seed: 1 },
    );
    expect([...seen].toSorted()).toEqual(
      [
        'ApprovalEscalated',
        'ApprovalExpired',
        'ApprovalLapsed',
        'ApprovalRequested',
        'ApprovalResponded',
        'ApproversReminded',
        'ExecutionClaimRenewed',
        'ExecutionClaimed',
        'ExecutionLapsed',
        'ExecutionOutcomeUnknown',
        'ExecutionReconciled',
        'ExecutionSucceeded',
        'ResponseWithdrawn',
        'ToolCallAllowed',
        'ToolCallBlocked',
        'ToolCallCancelled',
        'ToolCallRequested',
      ].toSorted(),
    );
  });
});
