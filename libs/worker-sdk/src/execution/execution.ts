import { randomUUID } from 'node:crypto';
import {
  backoffMs,
  type ClaimView,
  type OutcomeBody,
  type RequestApprovalBody,
  type ToolCallView,
} from '@countersign/contracts';
import { sleepOrThrow, startStopwatch } from '@countersign/contracts/clock';
import { CountersignError, isNotOurs, isRefusal, messageOf } from '../errors.js';
import type { ExecutionPorts, ExecutionRequest } from './execution-ports.js';
import { restraintOn } from './must-ask.js';
import { runClaimed } from './run-claimed.js';
import { createStopWait, type StopWait } from './stop-wait.js';
import { assertSamePlace } from './verify-claim.js';
import { inTraceOf } from '../ledger/trace.js';

/**
 * `asked`: people must agree first, and were asked. `denied`: the code of the tool denies it, and it was cancelled. `ran`: its outcome is recorded. `timed-out`: it ran too long or was aborted, and the end of its lease makes it `unknown`. `not-claimable`: another worker
 * claimed it, or it ended. `batch-incomplete`: not yet.
 */
export type ExecutionEnd = 'asked' | 'denied' | 'ran' | 'timed-out' | 'not-claimable' | 'batch-incomplete';

/**
 * Claims a call, runs its tool once, and reports the outcome; it waits for an unreachable server. Where the tool needs an
 * approval that the call does not have, it asks for it and claims nothing; a call that the tool's code denies is cancelled.
 * @param stop hears which stop the call waits for.
 */
export async function executeCall(
  ports: ExecutionPorts,
  request: ExecutionRequest,
  stop: StopWait = createStopWait(),
): Promise<ExecutionEnd> {
  const { call, tool } = request;
  if (tool !== undefined) assertSamePlace(call, tool);
  const restraint = await restraintOn(request, ports.stopped);
  if (restraint !== undefined) {
    const end =
      'ask' in restraint ? await askPeople(ports, call, restraint.ask) : await deny(ports, call, restraint.deny);
    if (end !== undefined) return end;
  }
  const claimed = await claimUnlessStopped(ports, call.callId, stop);
  if (typeof claimed === 'string') return claimed;
  let { claim } = claimed;
  if (claimed.sinceClaimedMs() >= ports.leaseMs) {
    const renewed = await renewedClaim(ports, call.callId, claim);
    if (renewed === undefined) return 'not-claimable';
    claim = renewed;
  }
  const held = claim;
  return inTraceOf(held, () => runAndReport(ports, request, held));
}

interface Claimed {
  readonly claim: ClaimView;
  readonly sinceClaimedMs: () => number;
}

/** How long a worker waits for the end of a stop before it claims again. */
const stoppedBackoff = { firstMs: 1000, maxMs: 5000 } as const;

/** Claims a call. While a person has stopped calls like it, it waits. */
async function claimUnlessStopped(
  ports: ExecutionPorts,
  callId: string,
  stop: StopWait,
): Promise<Claimed | 'batch-incomplete' | 'not-claimable'> {
  const { resolverId, leaseMs, stopped, clock, log } = ports;
  for (let tries = 1; ; tries += 1) {
    // Never stored, never derived: a claim whose response was lost is retried with this key, but a later worker, or this
    // one after a crash, must not get a claim whose tool may already have run.
    const waiting = { attempts: Infinity, signal: stopped, idempotencyKey: randomUUID() };
    const sinceClaimedMs = startStopwatch(clock);
    try {
      const claim = await ports.resolver.claim(callId, { resolverId, leaseMs }, waiting);
      stop.note(null);
      return { claim, sinceClaimedMs };
    } catch (error) {
      if (isRefusal(error, 'batch-incomplete')) return 'batch-incomplete';
      if (isRefusal(error, 'already-claimed', 'already-settled', 'not-approved', 'approval-lapsed'))
        return 'not-claimable';
      if (!isRefusal(error, 'stopped')) throw error;
      stop.note(error.problem?.detail ?? messageOf(error));
      if (tries === 1) log.warn({ callId, error: messageOf(error) }, 'the call waits for the end of a stop');
      await stop.pause(clock, backoffMs(tries, stoppedBackoff), stopped);
    }
  }
}

/** These say nothing about the call. */
const noRefusals: ReadonlySet<string> = new Set(['unauthenticated', 'unreachable', 'unreadable-response']);
/** Somebody else was faster: the next look at the call shows what happened. */
const hasChanged: ReadonlySet<string> = new Set(['already-pending', 'already-resolved', 'already-settled']);

async function askPeople(
  ports: ExecutionPorts,
  call: ToolCallView,
  question: RequestApprovalBody,
): Promise<ExecutionEnd> {
  try {
    await ports.requests.approval(call.callId, question, { attempts: Infinity, signal: ports.stopped });
    return 'asked';
  } catch (error) {
    return refusedTo(ports, call, error, 'its tool needs an approval here, and people cannot be asked');
  }
}

/** Cancels a call that the code of its tool denies. Undefined when it cannot be cancelled: then the claim ends it. */
async function deny(ports: ExecutionPorts, call: ToolCallView, reason: string): Promise<ExecutionEnd | undefined> {
  try {
    await ports.requests.cancel(call.callId, reason, { attempts: Infinity, signal: ports.stopped });
    return 'denied';
  } catch (error) {
    if (isRefusal(error, 'batch-begun', 'already-claimed')) return undefined;
    return refusedTo(ports, call, error, 'its tool denies the call here, and it cannot be cancelled');
  }
}

function refusedTo({ log }: ExecutionPorts, call: ToolCallView, error: unknown, why: string): ExecutionEnd {
  if (!(error instanceof CountersignError) || noRefusals.has(error.code)) throw error;
  const { callId, toolName } = call;
  const { code, message } = error;
  if (!hasChanged.has(code)) log.error({ callId, toolName, code, error: message }, `refused to execute: ${why}`);
  return 'not-claimable';
}

async function runAndReport(ports: ExecutionPorts, request: ExecutionRequest, claim: ClaimView): Promise<ExecutionEnd> {
  const { callId } = request.call;
  const end = await runClaimed(ports, request, claim);
  if (end.status === 'unknown') {
    void reportLate(ports, callId, end.late);
    return 'timed-out';
  }
  await report(ports, callId, end.outcome);
  return 'ran';
}

/** The response took longer than the lease, so the tool starts only if the claim can still be renewed. */
async function renewedClaim(ports: ExecutionPorts, callId: string, claim: ClaimView): Promise<ClaimView | undefined> {
  const { attempt } = claim;
  try {
    const renewed = await ports.resolver.renew(callId, { attempt, leaseMs: ports.leaseMs });
    return { ...claim, ...(renewed as Pick<ClaimView, 'receipt'> | null) };
  } catch (error) {
    ports.log.warn({ callId, attempt, error: messageOf(error) }, 'the claim ended before the tool could start');
    return undefined;
  }
}

/** A token that is refused may be accepted again, for example after a change of the tokens. A proxy's page goes away. */
const reportBackoff = { firstMs: 1000, maxMs: 60_000 } as const;

/** Reports until it is recorded: the report is accepted also after the lease, when the call is `unknown`. */
async function report(ports: ExecutionPorts, callId: string, outcome: OutcomeBody): Promise<void> {
  for (let tries = 1; ; tries += 1) {
    try {
      await reportOnce(ports, callId, outcome);
      return;
    } catch (error) {
      const why = isNotOurs(error) ? 'the response is not that of Countersign' : 'the token of the resolver is refused';
      const mayPass = isNotOurs(error) || isRefusal(error, 'unauthenticated', 'forbidden');
      if (!mayPass || isRefusal(error, 'payload-too-large')) throw error;
      const what = `the outcome is not recorded yet, because ${why}: it is reported again`;
      if (tries === 1) ports.log.error({ callId, error: messageOf(error) }, what);
      await sleepOrThrow(ports.clock, backoffMs(tries, reportBackoff), ports.stopped);
    }
  }
}

async function reportOnce(ports: ExecutionPorts, callId: string, outcome: OutcomeBody): Promise<void> {
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

/** A success is known, however late. A failure after the signal has aborted is not: the tool may have taken effect. */
async function reportLate(ports: ExecutionPorts, callId: string, late: Promise<OutcomeBody>): Promise<void> {
  try {
    await report(ports, callId, await late);
  } catch (error) {
    ports.log.warn({ callId, error: messageOf(error) }, 'the outcome stays unknown');
  }
}

function standIn(outcome: OutcomeBody, why: string): OutcomeBody {
  const { attempt } = outcome;
  if (outcome.status === 'failed') return { attempt, status: 'failed', error: { code: 'tool-error', message: why } };
  return { attempt, status: 'succeeded', output: { unrecorded: `The tool succeeded; its output was refused: ${why}` } };
}
