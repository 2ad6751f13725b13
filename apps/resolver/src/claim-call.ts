import { crashPoint, startStopwatch } from '@countersign/runtime';
import type { Clock, Ids, Log } from '@countersign/runtime';
import type { ClaimedCall } from './execution.js';
import type { ExecutionAnswer, Executions } from './executions.js';
import { Lease } from './lease.js';
import { retryUntilAnswered } from './retry.js';
import type { Tool } from './tools/tool.js';

/** A call that one of our tools executes. */
export interface OwnCall {
  readonly tenant: string;
  readonly callId: string;
  readonly tool: Tool;
  /** Both the tools file and the request say so. */
  readonly idempotent: boolean;
}

export type ClaimResult =
  | { readonly status: 'claimed'; readonly call: ClaimedCall }
  | { readonly status: 'refused'; readonly code: string }
  | { readonly status: 'failed'; readonly error: unknown };

export interface ClaimPorts {
  readonly executions: Executions;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  readonly resolverId: string;
  readonly leaseMs?: number;
  /** Ends the asking. */
  readonly signal: AbortSignal;
  /** Aborts when the resolver stops waiting for its tools. */
  readonly ending: AbortSignal;
}

/** Claims a call, and renews the claim from here on. */
export async function claimCall(own: OwnCall, ports: ClaimPorts): Promise<ClaimResult> {
  const { executions, clock, ids, log, resolverId, leaseMs = 60_000 } = ports;
  const { tenant, callId } = own;
  // Random, and kept for the repeats of this claim alone: a redelivered event must never get the claim of a process
  // that may have run the tool already.
  const request = { resolverId, leaseMs, commandId: ids.uuid() };
  crashPoint('resolver.before-claim');
  let sinceAskedMs = startStopwatch(clock);
  const answer = await retryUntilAnswered(() => executions.claim(tenant, callId, request), ports);
  if (answer.status === 'refused') return refused(callId, answer.refusal.code, log);
  crashPoint('resolver.after-claim');
  const { claim } = answer;
  let { receipt } = answer;
  const renew = (): Promise<ExecutionAnswer> => executions.renew(tenant, callId, { attempt: claim.attempt, leaseMs });
  if (sinceAskedMs() > leaseMs / 3) {
    // The response was slow, so the lease may be nearly over: renew it before anything runs.
    const renewed = await retryUntilAnswered(() => {
      sinceAskedMs = startStopwatch(clock);
      return renew();
    }, ports);
    if (renewed.status === 'refused') return refused(callId, renewed.refusal.code, log);
    receipt = renewed.receipt;
  }
  const lost = new AbortController();
  const lease = new Lease({
    leaseMs,
    sinceAskedMs,
    renew,
    receipt,
    onLost: () => lost.abort(new Error('the claim is lost')),
    clock,
    log: log.child({ callId, attempt: claim.attempt }),
  });
  return { status: 'claimed', call: { ...own, claim, lease, signal: AbortSignal.any([lost.signal, ports.ending]) } };
}

function refused(callId: string, code: string, log: Log): ClaimResult {
  log.info({ callId, code }, 'not claimed');
  return { status: 'refused', code };
}
