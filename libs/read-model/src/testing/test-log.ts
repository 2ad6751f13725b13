import {
  approvalIdOf,
  currentSchemaVersion,
  deriveCallId,
  QuestionRefusedError,
  toolCallStream,
} from '@countersign/contracts';
import type {
  EventData,
  EventMetadata,
  LedgerEvent,
  RecordedEvent,
  Requirement,
  Stage,
  ToolCallEventType,
  Verdict,
} from '@countersign/contracts';
import type { LogSource } from '../log-source.js';

export const startMs = Date.parse('2026-01-01T00:00:00.000Z');
/** The stored time `n` minutes after the start. */
export const minute = (n: number): string => new Date(startMs + n * 60_000).toISOString();
export const minuteMs = (n: number): number => startMs + n * 60_000;

export const digestOf = (letter: string): string => `sha256:${letter.repeat(64)}`;

export const verdict: Verdict = {
  outcome: 'require',
  ruleId: 'refunds',
  policyVersion: digestOf('f'),
  automatic: false,
  why: ['amount above 50'],
};

export const stage = (change: Partial<Stage> = {}): Stage => ({
  mode: 'quorum',
  approve: 1,
  deny: 1,
  groups: null,
  ...change,
});

export const requirement = (change: Partial<Requirement> = {}): Requirement => ({
  stages: [stage()],
  fourEyes: true,
  allowedDecisions: ['approve', 'edit', 'deny', 'answer'],
  requireReason: [],
  minAssurance: null,
  risk: null,
  expiresInMs: 3_600_000,
  executeByMs: 3_600_000,
  onTimeout: 'deny',
  escalation: [],
  remindersMs: [],
  ...change,
});

/** The data of every event type in a plausible form, for the call and round given. */
function plausible(callId: string, runId: string, tenant: string, toolCallId: string) {
  const approvalId = approvalIdOf(callId, 1);
  return {
    ToolCallRequested: {
      callId,
      tenant,
      runId,
      agentId: 'billing-agent',
      batchId: null,
      batchMode: 'independent',
      batchCallIds: [],
      toolCallId,
      toolName: 'refund_order',
      arguments: { amount: 100 },
      toolSchema: { type: 'object' },
      toolSchemaHash: digestOf('5'),
      salt: '00',
      actionDigest: digestOf('a'),
      sensitive: [],
      needsApproval: true,
      reason: 'the customer asked',
      description: 'Refund 100',
      clientExecuted: false,
      idempotent: false,
      labels: {},
      requestedBy: 'agent',
      requestedAt: minute(0),
    },
    ToolCallAllowed: { verdict: { ...verdict, outcome: 'allow', automatic: true }, allowedAt: minute(0) },
    ToolCallBlocked: { verdict: { ...verdict, outcome: 'block' }, reason: 'never', blockedAt: minute(0) },
    ApprovalRequested: {
      approvalId,
      round: 1,
      actionDigest: digestOf('a'),
      verdict,
      requirement: requirement(),
      reason: 'the customer asked',
      description: 'Refund 100',
      requestedBy: 'agent',
      requestedAt: minute(0),
      expiresAt: minute(60),
    },
    ApprovalResponded: {
      approvalId,
      decision: { type: 'approve' },
      proposal: 1,
      shown: null,
      actionDigest: digestOf('a'),
      reason: null,
      instruction: null,
      respondedBy: 'alice',
      onBehalfOf: null,
      groups: ['ops'],
      via: 'inbox',
      assurance: 'medium',
      automatic: false,
      respondedAt: minute(5),
      resolution: 'approved',
      executeBy: minute(65),
    },
    ResponseWithdrawn: { approvalId, withdrawnBy: 'alice', ends: 'vote', withdrawnAt: minute(6) },
    ValuesRevealed: {
      approvalId,
      revealedBy: 'alice',
      pointers: ['/password'],
      via: 'inbox',
      revealedAt: minute(6),
    },
    ApprovalExpired: { approvalId, expiredAt: minute(60) },
    ApprovalEscalated: {
      ...{ approvalId, level: 1, to: ['managers'], requirement: 0 },
      ...{ expiresAt: minute(80), escalatedAt: minute(60) },
    },
    ApprovalDescribed: { approvalId, reason: 'more', description: null, describedBy: 'agent', describedAt: minute(2) },
    ApproversReminded: { approvalId, nth: 1, remindedAt: minute(10) },
    ApprovalLapsed: { approvalId, lapsedAt: minute(65) },
    ToolCallCancelled: { approvalId, reason: 'run stopped', cancelledBy: 'agent', cancelledAt: minute(7) },
    ToolCallShadowJudged: {
      policyVersion: digestOf('c'),
      outcome: 'allow',
      ruleId: 'default',
      live: { outcome: 'require', ruleId: 'refunds' },
      differs: ['outcome'],
      why: [],
    },
    ToolCallQueued: { verdict: { ...verdict, outcome: 'allow', automatic: true }, question: null, queuedAt: minute(1) },
    ToolCallCommitted: { approvalId, committedAt: minute(7) },
    ExecutionClaimed: {
      attempt: 1,
      resolverId: 'resolver-1',
      claimedBy: 'worker',
      actionDigest: digestOf('a'),
      idempotencyKey: callId,
      claimedAt: minute(8),
      leaseUntil: minute(9),
    },
    ExecutionClaimRenewed: { attempt: 1, leaseUntil: minute(12), renewedAt: minute(8) },
    ExecutionSucceeded: {
      attempt: 1,
      executedBy: 'resolver',
      reportedBy: 'worker',
      reportedAt: minute(9),
      output: { refundId: 'r1' },
    },
    ExecutionFailed: {
      attempt: 1,
      executedBy: 'resolver',
      reportedBy: 'worker',
      reportedAt: minute(9),
      error: { status: 500 },
    },
    ExecutionLapsed: { attempt: 1, lapsedAt: minute(9) },
    ExecutionOutcomeUnknown: { attempt: 1, reason: 'the lease ended without a report', unknownSince: minute(9) },
    ExecutionReconciled: {
      status: 'succeeded',
      note: 'seen in the ledger',
      reconciledBy: 'admin',
      reconciledAt: minute(90),
    },
  } as const satisfies { [T in ToolCallEventType]: EventData<T> };
}

/** One call's stream in a test log. */
export interface TestCall {
  readonly callId: string;
  readonly approvalId: (round?: number) => string;
  /** Records one event: a plausible one with some data replaced. */
  readonly record: <T extends ToolCallEventType>(type: T, change?: Partial<EventData<T>>) => RecordedEvent;
}

/** A log in memory. */
export interface TestLog {
  readonly events: RecordedEvent[];
  readonly source: LogSource;
  readonly call: (toolCallId: string, of?: { tenant?: string; runId?: string }) => TestCall;
  /** An event of no call. */
  readonly activatePolicy: () => RecordedEvent;
  readonly cancelRun: (runId: string, callIds: string[], cancelledBy: string) => RecordedEvent;
}

/** An empty log. `step`: how far positions are apart, for logs with gaps. */
export function createTestLog(step = 1): TestLog {
  const events: RecordedEvent[] = [];
  const revisions = new Map<string, number>();
  const append = (
    stream: string,
    event: LedgerEvent,
    of: Pick<EventMetadata, 'tenant' | 'callId' | 'runId'>,
  ): RecordedEvent => {
    const revision = (revisions.get(stream) ?? -1) + 1;
    revisions.set(stream, revision);
    const position = (events.length + 1) * step;
    const recorded: RecordedEvent = {
      ...event,
      eventId: `event-${String(position)}`,
      metadata: { ...of, schemaVersion: currentSchemaVersion, commandId: `command-${String(position)}` },
      stream,
      revision,
      position,
      recordedAt: minute(position),
    };
    events.push(recorded);
    return recorded;
  };
  return {
    events,
    source: {
      readAll: async (after, limit) => {
        // As some stores do: they read from the position of an event, and from nowhere else.
        const isPlace =
          after === 0 || after >= (events.at(-1)?.position ?? 0) || events.some((one) => one.position === after);
        if (!isPlace) throw new QuestionRefusedError(`no event has the position ${String(after)}`);
        return events.filter(({ position }) => position > after).slice(0, limit);
      },
      head: () => Promise.resolve(events.at(-1)?.position ?? 0),
    },
    call: (toolCallId, { tenant = 'default', runId = 'run-1' } = {}) => {
      const callId = deriveCallId(tenant, runId, toolCallId);
      const data = plausible(callId, runId, tenant, toolCallId);
      return {
        callId,
        approvalId: (round = 1) => approvalIdOf(callId, round),
        record: (type, change) =>
          append(toolCallStream(callId), { type, data: { ...data[type], ...change } } as LedgerEvent, {
            tenant,
            callId,
            runId,
          }),
      };
    },
    activatePolicy: () =>
      append(
        'policy-default',
        {
          type: 'PolicyActivated',
          data: { policyVersion: digestOf('f'), content: {}, activatedBy: 'admin', activatedAt: minute(0) },
        },
        { tenant: 'default', callId: null, runId: null },
      ),
    cancelRun: (runId, callIds, cancelledBy) =>
      append(
        `runCancellation-${cancelledBy}`,
        { type: 'RunCancelled', data: { runId, callIds, reason: 'no more', cancelledBy, cancelledAt: minute(0) } },
        { tenant: 'default', callId: null, runId },
      ),
  };
}
