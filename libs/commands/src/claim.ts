import { actionDigest, limits } from '@countersign/contracts';
import type { ClaimView, DigestInput, Refusal, ToolCallEvent } from '@countersign/contracts';
import { toolCallRules } from '@countersign/domain';
import type { BatchBound, ToolCall } from '@countersign/domain';
import type { Actor } from './actor.js';
import { builtInBatch, closeBatch } from './batch.js';
import { stopped, whenStopsKnown } from './stops/stopped.js';
import { forbidden } from './stream/forbidden.js';
import { notSigned } from './signed-votes.js';
import { saysTheSame } from './stream/repeats.js';
import { withToolCall } from './stream/with-tool-call.js';
import { receiptOf } from './receipt.js';
import type { ClaimReceipt } from './receipt.js';
import type { Refused } from './stream/with-tool-call.js';
import { refused } from './result.js';
import type { Result } from './result.js';
import type { CommandPorts } from './ports.js';

/** The principal under which the service executes its own tools. */
export const serviceResolver = 'countersign-resolver';

/** The result of a claim or a renewal, with its receipt, which is computed when it is asked for. */
export type Receipted<T> =
  | {
      readonly status: 'done';
      readonly value: T;
      readonly position: number;
      readonly receipt: () => ClaimReceipt | undefined;
    }
  | { readonly status: 'refused'; readonly refusal: Refusal };

interface ClaimBody {
  readonly resolverId: string;
  readonly leaseMs?: number | undefined;
  /** The claim is to run nothing: it takes the right to run from a call of a restored log. No request can say so. */
  readonly isRestored?: true;
}

/** Claims the right to execute a call. The result carries all that is needed to recompute the action digest. */
export async function claim(
  ports: CommandPorts,
  actor: Actor,
  callId: string,
  body: ClaimBody,
  commandId: string,
): Promise<Receipted<ClaimView>> {
  const { tenant } = actor;
  // Before the claim is decided: a replica may need a moment, and the lease begins with the decision.
  const seq = await ports.asking?.history.placeInRun?.(tenant, callId);
  const { resolverId, leaseMs = limits.leaseMsDefault } = body;
  const isRepeat = (recorded: readonly ToolCallEvent[]) =>
    saysTheSame(recorded, { ExecutionClaimed: (given) => isLease(given.claimedAt, given, leaseMs) });
  const target = { tenant, callId, commandId, isRepeat };
  const outcome = await withToolCall(ports, target, toolCallRules.claimExecution, (call) => {
    const ours = ports.tools.find(tenant, call.request.toolName) !== undefined;
    if (ours && actor.principal !== serviceResolver) {
      return refused('forbidden', `the service itself executes "${call.request.toolName}"`);
    }
    const digest = actionDigest(digestInputOf(call), call.action.arguments);
    const build = () =>
      stopped(ports, call.request) ??
      (body.isRestored === true ? undefined : forbidden(ports, call.request, 'run')) ??
      ({
        type: 'ClaimExecution',
        at: ports.clock.now(),
        callId,
        resolverId,
        claimedBy: actor.principal,
        leaseMs,
        actionDigest: digest,
        idempotencyKey: callId,
        claimId: commandId,
        seq,
        ...(body.isRestored === true && { isRestored: true as const }),
      } as const);
    return builtToRun(ports, call, build, commandId);
  });
  if (outcome.status === 'refused') return closedIfBroken(ports, tenant, callId, outcome);
  // Also of a repeat, and of an append that took long: what the claimer was not told does not run.
  const held = await whenStopsKnown(ports, tenant, () => stopped(ports, outcome.value.request));
  if (held !== undefined) return held;
  return toClaim(outcome, { actor, resolverId, commandId });
}

function isLease(since: string, { leaseUntil }: { readonly leaseUntil: string }, leaseMs: number): boolean {
  return Date.parse(leaseUntil) - Date.parse(since) === leaseMs;
}

/** A command that runs a call. Where its rule asks for signatures, they are verified once more before it is decided. */
export function builtToRun<Command extends BatchBound>(
  ports: CommandPorts,
  call: ToolCall,
  build: () => Command | Refused,
  commandId: string,
): Command | Refused | Promise<Command | Refused> {
  const next = () => whenStopsKnown(ports, call.request.tenant, () => builtInBatch(ports, call, build, commandId));
  const signatures = notSigned(ports, call);
  return signatures === undefined ? next() : signatures.then((refusal) => refusal ?? next());
}

function toClaim(
  { value: call, position, traceparent }: Result<ToolCall> & { readonly status: 'done' },
  claimer: { readonly actor: Actor; readonly resolverId: string; readonly commandId: string },
): Receipted<ClaimView> {
  const { execution, action } = call;
  // A repeated request whose claim is over by now: the right that it was given is gone.
  if (execution.status === 'released') {
    return refused('already-claimed', 'this claim has ended: claim the call again, with a new Idempotency-Key');
  }
  if (execution.status !== 'claimed') return refused('already-settled', 'this claim has ended');
  // Attack on "at most once": a worker whose response was lost retries after its lease, when there is a later claim.
  // That claim may even be its own, but two executors must not share one fencing token.
  if (!isClaimOf(execution, claimer)) {
    return refused('already-claimed', `this claim has ended, and ${execution.resolverId} has the next one`);
  }
  // A worker that repeats its claim would run the text in the place of the values.
  if (action.salt === null) return refused('digest-mismatch', unreadable);
  return {
    status: 'done',
    position,
    value: {
      attempt: execution.attempt,
      arguments: action.arguments,
      actionDigest: action.actionDigest,
      digestInput: digestInputOf(call),
      idempotencyKey: execution.idempotencyKey,
      leaseUntil: execution.leaseUntil,
      ...(traceparent !== undefined && { traceparent }),
    },
    receipt: () => receiptOf({ ...call, execution }),
  };
}

const unreadable =
  'Values of this tool call cannot be read, because they are erased or their key is missing: it can no longer run.';

/** A member that was recorded after its batch broke is found here: it ends now. */
export async function closedIfBroken<T>(
  ports: CommandPorts,
  tenant: string,
  callId: string,
  outcome: Result<T> & { readonly status: 'refused' },
): Promise<Result<T> & { readonly status: 'refused' }> {
  if (outcome.refusal.extra?.['batch'] === 'broken') await closeBatch(ports, tenant, callId);
  return outcome;
}

type Claimed = Extract<ToolCall['execution'], { readonly status: 'claimed' }>;

function isClaimOf(
  { claimedBy, resolverId, claimId, attempt }: Claimed,
  claimer: { readonly actor: Actor; readonly resolverId: string; readonly commandId: string },
): boolean {
  if (claimedBy !== claimer.actor.principal || resolverId !== claimer.resolverId) return false;
  // A claim of an older version names no command; then only the first claim can be meant.
  return claimId === undefined ? attempt === 1 : claimId === claimer.commandId;
}

function digestInputOf({ request, action }: ToolCall): DigestInput {
  const { tenant, agentId, runId, toolCallId, toolName, toolSchemaHash } = request;
  return { tenant, agentId, runId, toolCallId, toolName, toolSchemaHash, salt: action.salt ?? '' };
}

/** Renews the lease of a claim. Returns its new end. */
export async function renewClaim(
  ports: CommandPorts,
  actor: Actor,
  callId: string,
  body: { readonly attempt: number; readonly leaseMs?: number | undefined },
  commandId: string,
): Promise<Receipted<{ readonly attempt: number; readonly leaseUntil: string }>> {
  const { attempt: renewed, leaseMs = limits.leaseMsDefault } = body;
  const isRepeat = (recorded: readonly ToolCallEvent[]) =>
    saysTheSame(recorded, {
      ExecutionClaimRenewed: (given) => given.attempt === renewed && isLease(given.renewedAt, given, leaseMs),
    });
  const outcome = await withToolCall(
    ports,
    { tenant: actor.tenant, callId, commandId, isRepeat },
    toolCallRules.renewClaim,
    (call, at) =>
      whenStopsKnown(
        ports,
        actor.tenant,
        () =>
          heldByAnother(actor, call) ??
          stopped(ports, call.request) ?? {
            ...{ type: 'RenewClaim', at, attempt: renewed, leaseMs },
          },
      ),
  );
  if (outcome.status === 'refused') return outcome;
  const { value: call, position } = outcome;
  const { execution } = call;
  // A late retry may find another worker's claim, and must not renew its lease.
  if (execution.status !== 'claimed' || execution.attempt !== body.attempt) {
    return refused('stale-claim', 'this claim has ended');
  }
  const { attempt, leaseUntil } = execution;
  return { status: 'done', value: { attempt, leaseUntil }, position, receipt: () => receiptOf({ ...call, execution }) };
}

/**
 * An attempt number is a fencing token, not a secret: only the principal that claimed may speak for its claim, also after
 * its lease.
 */
export function heldByAnother(actor: Actor, { execution }: ToolCall): Refused | undefined {
  const claimedBy = 'claimedBy' in execution ? execution.claimedBy : null;
  if (claimedBy === null || claimedBy === actor.principal) return undefined;
  return refused('stale-claim', 'the call is claimed by another principal');
}
