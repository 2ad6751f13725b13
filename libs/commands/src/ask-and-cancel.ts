import { approvalIdOf } from '@countersign/contracts';
import type { RequestApprovalBody } from '@countersign/contracts';
import { nextRound } from '@countersign/domain';
import type { Actor } from './actor.js';
import { speaksFor } from './actor.js';
import { closeBatchOf } from './batch.js';
import { ownsCall, withoutValue } from './execution.js';
import { judgeRecorded } from './judge-recorded.js';
import { onCall } from './on-call.js';
import { mayNotSpeakFor, rejected } from './outcome.js';
import type { Outcome } from './outcome.js';
import type { CommandPorts } from './ports.js';

/** Asks people about a recorded call, or asks again after nobody answered. */
export async function requestApproval(
  ports: CommandPorts,
  actor: Actor,
  callId: string,
  body: RequestApprovalBody,
  commandId: string,
): Promise<Outcome> {
  const outcome = await onCall(ports, { tenant: actor.tenant, callId, commandId }, (call, at) => {
    const { agentId } = call.request;
    if (!speaksFor(actor, agentId)) return mayNotSpeakFor(agentId);
    const round = nextRound(call);
    return {
      type: 'RequestApproval',
      at,
      round,
      approvalId: approvalIdOf(callId, round),
      ...judgeRecorded(ports, call, {
        needsApproval: true,
        expiresInMs: body.expiresInMs ?? null,
        allowedDecisions: body.allowedDecisions ?? null,
      }),
      reason: body.reason ?? null,
      description: body.description ?? null,
      requestedBy: actor.principal,
    };
  });
  return withoutValue(outcome);
}

/** Says more about an approval that is pending; adds only what was not said. */
export async function describeApproval(
  ports: CommandPorts,
  actor: Actor,
  callId: string,
  body: Pick<RequestApprovalBody, 'reason' | 'description'>,
  commandId: string,
): Promise<Outcome> {
  const outcome = await onCall(ports, { tenant: actor.tenant, callId, commandId }, (call, at) =>
    speaksFor(actor, call.request.agentId)
      ? {
          type: 'DescribeApproval',
          at,
          reason: body.reason ?? null,
          description: body.description ?? null,
          describedBy: actor.principal,
        }
      : mayNotSpeakFor(call.request.agentId),
  );
  return withoutValue(outcome);
}

/** Cancels one call; only its requester or an admin may. */
export async function cancelToolCall(
  ports: CommandPorts,
  actor: Actor,
  callId: string,
  reason: string,
  commandId: string,
): Promise<Outcome> {
  const outcome = await onCall(ports, { tenant: actor.tenant, callId, commandId }, (call, at) =>
    ownsCall(actor, call)
      ? { type: 'CancelToolCall', at, reason, cancelledBy: actor.principal }
      : rejected('forbidden', 'only the principal that requested a call, or an admin, cancels it'),
  );
  if (outcome.status === 'rejected') return outcome;
  const closedAt = await closeBatchOf(ports, outcome.value);
  return { status: 'done', value: undefined, position: Math.max(outcome.position, closedAt) };
}
