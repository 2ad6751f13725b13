import { randomUUID } from 'node:crypto';
import {
  isSettled,
  jcsDigest,
  type ClaimView,
  type JsonValue,
  type OutcomeBody,
  type ToolCallView,
} from '@countersign/contracts';
import { linkedController, sleep, type LinkedController, type Clock } from '@countersign/http-client';
import type { Client } from './client.js';
import { isRefusal, messageOf } from './errors.js';
import type { ExecutionContext, GateTool } from './gate-tool.js';
import type { Given } from './outcome.js';
import type { WorkerLog } from './log.js';
import { asJson } from './schema.js';
import { problemOfClaim } from './verify-claim.js';

/** The parts of the worker that an execution needs. */
export interface ExecutionPorts {
  readonly requester: Client;
  readonly resolver: Client;
  readonly clock: Clock;
  readonly log: WorkerLog;
  readonly resolverId: string;
  readonly leaseMs: number;
  /** Aborts when the worker is asked to stop; the tools get it. */
  readonly stopping: AbortSignal;
  /** Aborts when the worker may no longer wait for an unreachable server. */
  readonly stopped: AbortSignal;
}

/** A call that may run, and what it was asked as. */
export interface ExecutionRequest {
  readonly call: ToolCallView;
  readonly tool: GateTool;
  readonly argumentsHash: string | null;
  readonly given?: Given | undefined;
}

/**
 * `ran`: its outcome is recorded. `not-claimable`: another worker claimed it, or it ended. `batch-incomplete`: not yet.
 */
export type ExecutionEnd = 'ran' | 'not-claimable' | 'batch-incomplete';

/** Claims a call, runs its tool once, and reports the outcome; it waits for an unreachable server. */
export async function executeCall(ports: ExecutionPorts, request: ExecutionRequest): Promise<ExecutionEnd> {
  const { call } = request;
  // Never stored, never derived: a claim whose response was lost is retried with this key, but a later worker, or this
  // one after a crash, must not get a claim whose tool may already have run.
  const claimKey = randomUUID();
  const { resolverId, leaseMs } = ports;
  const waiting = { attempts: Infinity, signal: ports.stopped };
  const claimedAt = ports.clock.monotonic();
  let claim: ClaimView;
  try {
    claim = await ports.resolver.claim(call.callId, { resolverId, leaseMs }, { ...waiting, idempotencyKey: claimKey });
  } catch (error) {
    if (isRefusal(error, 'batch-incomplete')) return 'batch-incomplete';
    if (isRefusal(error, 'already-claimed', 'already-settled', 'not-approved', 'approval-lapsed'))
      return 'not-claimable';
    throw error;
  }
  const isExpired = ports.clock.monotonic() - claimedAt >= leaseMs;
  if (isExpired && !(await isStillOurs(ports, call.callId, claim.attempt))) return 'not-claimable';
  await report(ports, call.callId, await outcomeOf(ports, request, claim));
  return 'ran';
}

/** The response took longer than the lease, so the tool starts only if the claim can still be renewed. */
async function isStillOurs(ports: ExecutionPorts, callId: string, attempt: number): Promise<boolean> {
  try {
    await ports.resolver.renew(callId, { attempt, leaseMs: ports.leaseMs });
    return true;
  } catch (error) {
    ports.log.warn({ callId, attempt, error: messageOf(error) }, 'the claim ended before the tool could start');
    return false;
  }
}

async function outcomeOf(ports: ExecutionPorts, request: ExecutionRequest, claim: ClaimView): Promise<OutcomeBody> {
  const { call, tool, argumentsHash } = request;
  const { attempt } = claim;
  const failed = (error: JsonValue): OutcomeBody => ({ attempt, status: 'failed', error });
  const problem = problemOfClaim(claim, call, tool, argumentsHash);
  if (problem !== undefined) {
    ports.log.error({ callId: call.callId, code: problem.code }, 'refused to execute');
    return failed({ ...problem });
  }
  // Once more, because an approver may have put other arguments in their place.
  const checked = await tool.check(claim.arguments);
  if (!checked.valid) {
    const issues = checked.issues.map((issue) => ({ ...issue }));
    return failed({ code: 'invalid-arguments', message: 'The arguments do not match the schema of the tool', issues });
  }
  if (call.originalArguments === undefined && jcsDigest(checked.arguments) !== jcsDigest(claim.arguments)) {
    // For example a path that has become a link since. An edit is exempt, because it was not validated by the tool
    // before.
    const message = 'Validated once more, the approved arguments mean something else than when they were approved';
    return failed({ code: 'digest-mismatch', message });
  }
  const { execute } = checked;
  if (execute === undefined) return failed({ code: 'unknown-tool', message: `${tool.name} cannot be run here` });
  try {
    const output = await withLease(ports, call.callId, attempt, (signal) => execute(contextOf(request, claim, signal)));
    return { attempt, status: 'succeeded', output: recordableOutput(output) };
  } catch (error) {
    const name = error instanceof Error ? error.name : 'Error';
    return failed({ code: 'tool-error', name, message: messageOf(error) });
  }
}

function contextOf({ call, given }: ExecutionRequest, claim: ClaimView, signal: AbortSignal): ExecutionContext {
  const { callId, runId, agentId, toolCallId, approval } = call;
  const { attempt, idempotencyKey } = claim;
  const isApproved = approval?.state === 'approved';
  return {
    callId,
    runId,
    agentId,
    toolCallId,
    attempt,
    idempotencyKey,
    signal,
    approval: isApproved ? approval : null,
    messages: given?.messages ?? [],
    context: given?.context,
  };
}

/** The tool did run, so an output that is no JSON must not turn its success into a failure: the model would try again. */
function recordableOutput(output: unknown): JsonValue {
  if (output === undefined) return null;
  return asJson(output) ?? { unrecorded: 'The tool succeeded; its output cannot be written as JSON.' };
}

/** Runs `work` while renewing the claim. Its signal aborts when another worker has the claim. */
async function withLease<T>(
  ports: ExecutionPorts,
  callId: string,
  attempt: number,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const tool = linkedController(ports.stopping);
  const done = linkedController();
  const renewing = keepRenewed(ports, callId, attempt, tool, done.signal);
  try {
    return await work(tool.signal);
  } finally {
    done.abort(new Error('the tool has ended'));
    tool.release();
    await renewing;
  }
}

async function keepRenewed(
  ports: ExecutionPorts,
  callId: string,
  attempt: number,
  tool: LinkedController,
  done: AbortSignal,
): Promise<void> {
  const { clock, leaseMs } = ports;
  for (;;) {
    try {
      await sleep(clock, leaseMs / 3, done);
      await ports.resolver.renew(callId, { attempt, leaseMs }, { signal: done, attempts: Infinity });
    } catch (error) {
      if (done.aborted) return;
      ports.log.warn({ callId, attempt, error: messageOf(error) }, 'the claim could not be renewed');
      if (isRefusal(error, 'stale-claim') && (await isTakenOver(ports, callId, done))) {
        tool.abort(new Error('the claim has gone to somebody else'));
        return;
      }
    }
  }
}

/**
 * Resolves to whether another worker has a stale claim. After an outage longer than the lease the call is `unknown`, or
 * claimable again: then no other worker runs it, and stopping half-way would be worse than finishing.
 */
async function isTakenOver(ports: ExecutionPorts, callId: string, signal: AbortSignal): Promise<boolean> {
  try {
    const { state } = await ports.requester.getToolCall(callId, { signal, attempts: Infinity });
    return state === 'executing' || (isSettled(state) && state !== 'unknown');
  } catch {
    return false;
  }
}

/** Reports until it is recorded: the report is accepted also after the lease, when the call is `unknown`. */
async function report(ports: ExecutionPorts, callId: string, outcome: OutcomeBody): Promise<void> {
  const waiting = { attempts: Infinity, signal: ports.stopped };
  try {
    await ports.resolver.reportOutcome(callId, outcome, waiting);
  } catch (error) {
    if (isRefusal(error, 'stale-claim')) {
      ports.log.warn({ callId, attempt: outcome.attempt }, 'the outcome came too late: the call is already settled');
      return;
    }
    if (!isRefusal(error, 'payload-too-large', 'invalid-request')) throw error;
    ports.log.error({ callId, error: messageOf(error) }, 'the outcome cannot be recorded unchanged');
    await ports.resolver.reportOutcome(callId, standIn(outcome, messageOf(error)), waiting);
  }
}

function standIn(outcome: OutcomeBody, why: string): OutcomeBody {
  const { attempt } = outcome;
  if (outcome.status === 'failed') return { attempt, status: 'failed', error: { code: 'tool-error', message: why } };
  return { attempt, status: 'succeeded', output: { unrecorded: `The tool succeeded; its output was refused: ${why}` } };
}
