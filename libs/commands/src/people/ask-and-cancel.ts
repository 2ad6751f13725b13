import { approvalIdOf, isCallId } from '@countersign/contracts';
import type { RequestApprovalBody } from '@countersign/contracts';
import { isBatchMember, nextRound, overQuota, toolCallRules } from '@countersign/domain';
import type { RequestApproval, ToolCall } from '@countersign/domain';
import type { Actor } from '../actor.js';
import { reachOf } from '../actor.js';
import { approversOf } from '../request/approvers.js';
import { doneByWord, fateOf, inBatch, settleBatch } from '../batch.js';
import { withoutValue } from '../execution.js';
import { judgeRecorded } from '../request/judge-recorded.js';
import { askerOf, inTurnOfAsker, questionOf, quotaFacts } from '../request/quotas.js';
import type { Asker } from '../request/quotas.js';
import { findCall, withToolCall } from '../stream/with-tool-call.js';
import type { Refused } from '../stream/with-tool-call.js';
import { refused } from '../result.js';
import type { Result } from '../result.js';
import type { CommandPorts } from '../ports.js';

/** Requests approval of a recorded call, or requests it again after it expired. */
export async function requestApproval(
  ports: CommandPorts,
  actor: Actor,
  callId: string,
  body: RequestApprovalBody,
  commandId: string,
): Promise<Result> {
  const { tenant } = actor;
  const hasQuotas = ports.policies.of(tenant).quotas !== null;
  const call = hasQuotas && isCallId(callId) ? await findCall(ports, tenant, callId) : undefined;
  const ask = (): Promise<Result> => askPeople(ports, actor, callId, body, commandId);
  return call === undefined ? ask() : inTurnOfAsker(ports, askerAbout(actor, call), ask);
}

async function askPeople(
  ports: CommandPorts,
  actor: Actor,
  callId: string,
  body: RequestApprovalBody,
  commandId: string,
): Promise<Result> {
  const outcome = await withToolCall(
    ports,
    { tenant: actor.tenant, callId, commandId },
    toolCallRules.requestApproval,
    (call, at) => {
      const round = nextRound(call);
      const approvers = approversOf(ports, call.request.tenant, [call.request]);
      const command = {
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
        reach: reachOf(actor),
        ...(approvers !== null && { approvers }),
      } as const;
      return overQuotaBy(ports, actor, call, command) ?? inBatch(ports, call, command, commandId);
    },
  );
  if (outcome.status === 'refused') return outcome;
  const { permission } = outcome.value;
  if (permission.status === 'blocked') {
    await settleBatch(ports, outcome.value);
    return refused('blocked-by-policy', `the policy blocks this tool call: ${permission.reason}`);
  }
  if (!isBatchMember(outcome.value)) return withoutValue(outcome);
  return unlessDecided(ports, outcome.value, outcome.position);
}

/** Quotas do not concern a question that the rule refuses or that adds no event. */
function overQuotaBy(ports: CommandPorts, actor: Actor, call: ToolCall, command: RequestApproval): Refused | undefined {
  const decision = toolCallRules.requestApproval(command, call);
  const asks = decision.status === 'accepted' && decision.events.some(({ type }) => type === 'ApprovalRequested');
  if (!asks) return undefined;
  const isOwn = call.request.requestedBy === actor.principal;
  const asked = isOwn ? call.request : { ...call.request, requestedBy: null };
  const facts = quotaFacts(ports, askerAbout(actor, call), [asked]);
  const refusal = facts === null ? undefined : overQuota(facts, [questionOf(asked)], ports.clock.now());
  return refusal && { status: 'refused', refusal };
}

/** An admin who asks about the call of another principal is no agent that names agents. */
function askerAbout(actor: Actor, { request: { agentId, requestedBy } }: ToolCall): Asker {
  const own = askerOf(actor, agentId);
  return requestedBy === actor.principal ? own : { ...own, principal: requestedBy, namesFreely: false };
}

/** The batch may have got its word while the question was recorded: then the question is closed again. */
export async function unlessDecided(ports: CommandPorts, call: ToolCall, position: number): Promise<Result> {
  const settledAt = await settleBatch(ports, call);
  if (settledAt === 0 && !call.committed) return { status: 'done', value: undefined, position };
  const { status } = await fateOf(ports, call);
  return status === 'broken'
    ? refused('batch-incomplete', 'no call of this all-or-nothing batch will run')
    : refused('batch-begun', 'a call of the same all-or-nothing batch has begun, so this call may run');
}

/** Adds a reason or description to a pending approval; never replaces one. */
export async function describeApproval(
  ports: CommandPorts,
  actor: Actor,
  callId: string,
  body: Pick<RequestApprovalBody, 'reason' | 'description'>,
  commandId: string,
): Promise<Result> {
  const outcome = await withToolCall(
    ports,
    { tenant: actor.tenant, callId, commandId },
    toolCallRules.describeApproval,
    (_, at) => ({
      type: 'DescribeApproval',
      at,
      reason: body.reason ?? null,
      description: body.description ?? null,
      describedBy: actor.principal,
      reach: reachOf(actor),
    }),
  );
  return withoutValue(outcome);
}

/** Cancels one call. Only its requester or an admin may. */
export async function cancelToolCall(
  ports: CommandPorts,
  actor: Actor,
  callId: string,
  reason: string,
  commandId: string,
): Promise<Result> {
  let found: ToolCall | undefined;
  const outcome = await withToolCall(
    ports,
    { tenant: actor.tenant, callId, commandId },
    toolCallRules.cancelToolCall,
    (call, at) => {
      found = call;
      const by = { cancelledBy: actor.principal, reach: reachOf(actor) };
      return inBatch(ports, call, { type: 'CancelToolCall', at, reason, ...by }, commandId);
    },
  );
  if (outcome.status === 'refused') return (await doneByWord(ports, found, commandId)) ?? outcome;
  const closedAt = await settleBatch(ports, outcome.value);
  return { status: 'done', value: undefined, position: Math.max(outcome.position, closedAt) };
}
