import { actionDigest, deriveCallId } from '@countersign/contracts';
import type { ClaimView, JsonObject, Refusal, RefusalCode } from '@countersign/contracts';
import type { Clock } from '@countersign/runtime';
import type { ClaimAnswer, ExecutableCall, Executions, ReportedOutcome } from '../executions.js';

/** A call for tests, with defaults. */
export interface MemoryCall {
  readonly toolName: string;
  readonly toolCallId: string;
  readonly arguments?: JsonObject;
  readonly idempotent?: boolean;
  readonly tenant?: string;
  readonly siblings?: readonly string[];
}

interface Recorded {
  readonly call: MemoryCall;
  state: 'pending' | 'claimable' | 'claimed' | 'unknown' | ReportedOutcome;
  attempt: number;
  commandId?: string;
  leaseUntil: number;
}

/** An in-memory ledger with the rules of claims, whose responses a test can break. */
export interface MemoryExecutions extends Executions {
  /** Adds a call; returns its id. */
  readonly add: (call: MemoryCall, state?: 'pending' | 'claimable') => string;
  readonly approve: (callId: string) => void;
  /** The calls that a stop holds back. */
  readonly stopped: Set<string>;
  /** Acts like the deadlines: an overdue claim becomes claimable again (idempotent) or unknown. */
  readonly lapse: (callId: string) => void;
  readonly stateOf: (callId: string) => Recorded['state'];
  /** The requests as `claim tc_…`, in order. */
  readonly asked: readonly string[];
  /** Called before each request; its error is the response. */
  onAsked: (question: string) => void | Promise<void>;
  /** Called after each response was recorded; its error loses the response. */
  onAnswered: (question: string) => void;
  /** Changes a claim on its way to the resolver. */
  tamper: (claim: ClaimView) => ClaimView;
}

export const memoryRunId = 'run-1';
/** For every approval. */
export const memoryApprovalId = 'apr_1';

const refuse = (code: RefusalCode): { status: 'refused'; refusal: Refusal } => ({
  status: 'refused',
  refusal: { code, detail: code },
});

export function createMemoryExecutions(clock: Clock): MemoryExecutions {
  const calls = new Map<string, Recorded>();
  const asked: string[] = [];
  const of = (tenant: string, callId: string): Recorded | undefined => {
    const recorded = calls.get(callId);
    return (recorded?.call.tenant ?? 'default') === tenant ? recorded : undefined;
  };
  const ask = async <T>(name: string, callId: string, answer: () => T): Promise<T> => {
    const question = `${name} ${callId}`;
    asked.push(question);
    await ledger.onAsked(question);
    const given = answer();
    ledger.onAnswered(question);
    return given;
  };
  const held = (tenant: string, callId: string, attempt: number): Recorded | undefined => {
    const recorded = of(tenant, callId);
    const open = recorded?.state === 'claimed' || recorded?.state === 'unknown';
    return open && recorded.attempt === attempt ? recorded : undefined;
  };
  const stopped = new Set<string>();
  const ledger: MemoryExecutions = {
    asked,
    stopped,
    onAsked: () => undefined,
    onAnswered: () => undefined,
    tamper: (claim) => claim,
    add: (call, state = 'claimable') => {
      const callId = deriveCallId(call.tenant ?? 'default', memoryRunId, call.toolCallId);
      calls.set(callId, { call, state, attempt: 0, leaseUntil: 0 });
      return callId;
    },
    approve: (callId) => {
      const recorded = calls.get(callId);
      if (recorded?.state === 'pending') recorded.state = 'claimable';
    },
    lapse: (callId) => {
      const recorded = calls.get(callId);
      if (recorded?.state !== 'claimed' || clock.now() < recorded.leaseUntil) return;
      recorded.state = recorded.call.idempotent === true ? 'claimable' : 'unknown';
    },
    stateOf: (callId) => calls.get(callId)?.state ?? 'pending',
    find: (tenant, callId) => ask('find', callId, () => toExecutable(of(tenant, callId))),
    claim: (tenant, callId, { leaseMs, commandId }) =>
      ask('claim', callId, (): ClaimAnswer => {
        const recorded = of(tenant, callId);
        if (recorded === undefined) return refuse('not-approved');
        if (stopped.has(callId)) return refuse('stopped');
        if (recorded.commandId !== commandId || recorded.state !== 'claimed') {
          if (recorded.state === 'claimed') return refuse('already-claimed');
          if (recorded.state !== 'claimable') return refuse('not-approved');
          const waiting = (recorded.call.siblings ?? []).some((id) => calls.get(id)?.state === 'pending');
          if (waiting) return refuse('batch-incomplete');
          const attempt = recorded.attempt + 1;
          Object.assign(recorded, { state: 'claimed', attempt, commandId, leaseUntil: clock.now() + leaseMs });
        }
        return { status: 'claimed', claim: ledger.tamper(toClaim(callId, recorded)) };
      }),
    renew: (tenant, callId, { attempt, leaseMs }) =>
      ask('renew', callId, () => {
        const recorded = held(tenant, callId, attempt);
        if (recorded?.state !== 'claimed') return refuse('stale-claim');
        recorded.leaseUntil = clock.now() + leaseMs;
        return { status: 'recorded' };
      }),
    report: (tenant, callId, { attempt, ...outcome }) =>
      ask('report', callId, () => {
        const recorded = held(tenant, callId, attempt);
        if (recorded === undefined) return refuse('stale-claim');
        recorded.state = outcome;
        return { status: 'recorded' };
      }),
  };
  return ledger;
}

function toExecutable(recorded: Recorded | undefined): ExecutableCall | undefined {
  if (recorded === undefined) return undefined;
  const { toolName, idempotent = false, siblings = [] } = recorded.call;
  return {
    ...{ toolName, idempotent, siblings, claimable: recorded.state === 'claimable' },
    granted: recorded.state === 'pending' ? [] : [memoryApprovalId],
  };
}

function toClaim(callId: string, { call, attempt, leaseUntil }: Recorded): ClaimView {
  const { toolCallId, toolName, tenant = 'default', arguments: args = {} } = call;
  const digestInput = {
    tenant,
    agentId: 'agent',
    runId: memoryRunId,
    toolCallId,
    toolName,
    toolSchemaHash: null,
    salt: '00',
  };
  return {
    attempt,
    arguments: args,
    actionDigest: actionDigest(digestInput, args),
    digestInput,
    idempotencyKey: callId,
    leaseUntil: new Date(leaseUntil).toISOString(),
  };
}
