import fc from 'fast-check';
import type { EventData, Requirement, RecordedEvent, ToolCallEventType } from '@countersign/contracts';
import { toolCallEventTypes } from '@countersign/contracts';
import { createTestLog, digestOf, minute, requirement, stage, verdict } from './test-log.js';
import type { TestCall, TestLog } from './test-log.js';

/** One step of a generated log: an event of one of a few calls, or of no call. */
interface Happening {
  readonly call: number;
  readonly type: ToolCallEventType | 'PolicyActivated';
  readonly decision: 'approve' | 'edit' | 'deny' | 'answer';
  readonly resolution: 'pending' | 'approved' | 'denied';
  readonly who: string;
  readonly at: number;
}

const happening: fc.Arbitrary<Happening> = fc.record({
  call: fc.nat(5),
  type: fc.oneof(
    { weight: 3, arbitrary: fc.constantFrom('ApprovalRequested' as const, 'ApprovalResponded' as const) },
    { weight: 4, arbitrary: fc.constantFrom(...toolCallEventTypes, 'PolicyActivated' as const) },
  ),
  decision: fc.constantFrom('approve', 'edit', 'deny', 'answer'),
  resolution: fc.constantFrom('pending', 'approved', 'denied'),
  who: fc.constantFrom('alice', 'bob', 'Carol '),
  at: fc.nat(40),
});

const stages = [
  [stage()],
  [stage({ approve: 2, groups: ['ops'] })],
  [stage({ groups: ['ops'] }), stage({ mode: 'all-of', groups: ['legal', 'ops'] })],
];

/** The progress of generating one call. */
interface SoFar {
  round: number;
  /** The digest that its approvers would see. */
  actionDigest: string;
}

/** The sequence makes no sense on purpose: for any log, every way of folding must give the same result. */
function record(log: TestLog, calls: readonly TestCall[], soFar: Map<TestCall, SoFar>, what: Happening): void {
  const call = calls[what.call];
  if (what.type === 'PolicyActivated' || call === undefined) {
    log.activatePolicy();
    return;
  }
  const known = soFar.get(call) ?? { round: 0, actionDigest: digestOf('a') };
  if (!soFar.has(call)) {
    soFar.set(call, known);
    call.record('ToolCallRequested', { toolName: `tool_${String(what.call % 2)}` });
  }
  if (what.type === 'ToolCallRequested') return;
  if (what.type === 'ApprovalRequested') known.round += 1;
  if (what.type === 'ApprovalResponded' && what.decision === 'edit') known.actionDigest = digestOf(String(what.at % 3));
  call.record(what.type, changeOf(what, call.approvalId(Math.max(known.round, 1)), known));
}

const withdrawalEnds = ['vote', 'proposal', 'unbacked-answer'] as const;

const inHours: Partial<Requirement> = {
  businessHours: { zone: 'Europe/Paris', days: ['mon', 'fri'], from: '08:00', to: '18:00' },
};

function changeOf(
  what: Happening,
  approvalId: string,
  { round, actionDigest }: SoFar,
): Partial<EventData<ToolCallEventType>> {
  switch (what.type) {
    case 'ApprovalRequested': {
      const demanded = requirement({
        stages: stages[what.at % 3] ?? [],
        remindersMs: what.at % 2 === 0 ? [60_000] : [],
        ...(what.at % 3 === 0 ? inHours : {}),
        ...(what.at % 5 === 0 ? ({ batch: 'all-or-nothing' } as const) : {}),
        ...(what.at % 7 === 0 ? ({ denyEndsRun: true } as const) : {}),
      });
      return {
        ...(what.at % 3 === 0 ? { remindAt: [minute(what.at), minute(what.at + 1)] } : {}),
        approvalId,
        round,
        actionDigest,
        requirement: demanded,
        expiresAt: what.at === 0 ? null : minute(what.at),
      };
    }
    case 'ApprovalResponded':
      return {
        approvalId,
        actionDigest,
        decision: decisionOf(what),
        // Null, as in the older version; and a number that may be the next one or none.
        proposal: what.at % 3 === 0 ? null : 1 + (what.at % 4),
        resolution: what.resolution,
        respondedBy: what.who,
        onBehalfOf: what.at % 7 === 0 ? 'bob' : null,
        groups: what.at % 2 === 0 ? ['ops'] : ['legal', 'managers'],
        executeBy: what.at === 0 ? null : minute(what.at),
      };
    case 'ResponseWithdrawn':
      return { approvalId, withdrawnBy: what.who, ends: withdrawalEnds[what.at % 3] ?? 'vote' };
    case 'ExecutionClaimed':
      return { leaseUntil: minute(what.at) };
    case 'ApprovalEscalated':
      return { approvalId, requirement: what.at % 2, ...(what.at % 4 === 0 && { expiresAt: null, to: [] }) };
    case 'ApprovalDescribed':
    case 'ApprovalExpired':
    case 'ApproversReminded':
    case 'ApprovalLapsed':
    case 'ToolCallCancelled':
    case 'ToolCallCommitted':
      return { approvalId };
    default:
      return {};
  }
}

function decisionOf({ decision, at }: Happening): EventData<'ApprovalResponded'>['decision'] {
  switch (decision) {
    case 'edit': {
      const clock = at % 2 === 0 ? null : { expiresAt: minute(30 + at) };
      const raised = at % 5 === 0 ? requirement({ stages: stages[at % 2] ?? [], risk: 'high' }) : null;
      return {
        type: 'edit',
        arguments: { amount: at % 3 },
        sensitive: [],
        salt: '01',
        verdict,
        requirement: raised,
        clock,
      };
    }
    case 'answer':
      return { type: 'answer', output: { at: at % 3 } };
    default:
      return { type: decision };
  }
}

/** A log of up to 60 events about up to six calls of two tenants and three runs. */
export const arbitraryLog: fc.Arbitrary<TestLog> = fc.array(happening, { maxLength: 60 }).map((happenings) => {
  const log = createTestLog(3);
  const calls = Array.from({ length: 6 }, (_, n) =>
    log.call(`call_${String(n)}`, { tenant: n % 3 === 0 ? 'other' : 'default', runId: `run-${String(n % 3)}` }),
  );
  const soFar = new Map<TestCall, SoFar>();
  for (const one of happenings) record(log, calls, soFar, one);
  return log;
});

/** Groups the same events by the given sizes, cyclically. */
export function inGroups(events: readonly RecordedEvent[], sizes: readonly number[]): RecordedEvent[][] {
  const groups: RecordedEvent[][] = [];
  for (let at = 0, turn = 0; at < events.length; turn += 1) {
    const size = sizes[turn % sizes.length] ?? 1;
    groups.push(events.slice(at, at + size));
    at += size;
  }
  return groups;
}

export const groupSizes = fc.array(fc.integer({ min: 1, max: 9 }), { minLength: 1, maxLength: 5 });
