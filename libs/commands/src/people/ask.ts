import { approvalIdOf, isCallId } from '@countersign/contracts';
import type { RequestApprovalBody, ToolCallEvent } from '@countersign/contracts';
import { askedNobody, nextRound, toolCallRules } from '@countersign/domain';
import type { RequestApproval, ToolCall } from '@countersign/domain';
import type { Actor } from '../actor.js';
import { reachOf } from '../actor.js';
import { approversOf } from '../request/approvers.js';
import { builtInBatch, fateOf, settleBatch } from '../batch.js';
import { withoutValue } from '../execution.js';
import { judgeRecorded } from '../request/judge-recorded.js';
import { askerOf, inTurnOfAsker, questionFacts } from '../request/quotas.js';
import type { Asker } from '../request/quotas.js';
import { endIfInsideCancelled, isInsideCancelled } from './end-inside.js';
import { stopsOver } from '../stops/coverage.js';
import { whenStopsKnown } from '../stops/stopped.js';
import { forbidden } from '../stream/forbidden.js';
import { saysTheSame } from '../stream/repeats.js';
import { findCall, withToolCall } from '../stream/with-tool-call.js';
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
  const question = async (call: ToolCall) => {
    const isEnded = await isInsideCancelled(ports, call.request);
    const build = () =>
      forbidden(ports, call.request, 'judge') ?? {
        ...toQuestion(ports, actor, call, body, ports.clock.now()),
        isInsideCancelled: isEnded,
      };
    return whenStopsKnown(ports, tenant, () => builtInBatch(ports, call, build, commandId));
  };
  const ask = async (): Promise<Result> => {
    const target = { tenant, callId, commandId, by: actor, isRepeat: isSameQuestion(body) };
    const outcome = await withToolCall(ports, target, toolCallRules.requestApproval, question);
    return outcome.status === 'refused' ? outcome : afterQuestion(ports, outcome);
  };
  const hasQuotas = ports.policies.of(tenant).quotas !== null;
  const call = hasQuotas && isCallId(callId) ? await findCall(ports, tenant, callId) : undefined;
  return call === undefined ? ask() : inTurnOfAsker(ports, askerAbout(actor, call), ask);
}

/**
 * Returns whether a recorded question, or what was added to one, has these words and decisions. A message that found people asked
 * already added its words, or nothing.
 */
function isSameQuestion({ reason, description, allowedDecisions }: RequestApprovalBody) {
  return (recorded: readonly ToolCallEvent[]): boolean =>
    saysTheSame(recorded, {
      ApprovalRequested: (told) =>
        isTold(told.reason, reason) &&
        isTold(told.description, description) &&
        told.requirement.allowedDecisions.every((one) => one === 'deny' || allowedDecisions?.includes(one) !== false),
      ApprovalDescribed: (told) =>
        (told.reason === null || isTold(told.reason, reason)) &&
        (told.description === null || isTold(told.description, description)),
    });
}

/** Words that follow others are recorded behind the name of their principal. */
function isTold(told: string | null, words: string | undefined): boolean {
  return words === undefined || told === words || told?.endsWith(`: ${words}`) === true;
}

/** The question about a call as it is recorded now, with all that is known about it. */
function toQuestion(
  ports: CommandPorts,
  actor: Actor,
  call: ToolCall,
  body: RequestApprovalBody,
  at: number,
): RequestApproval {
  const { request } = call;
  const { principal: requestedBy } = actor;
  const round = nextRound(call);
  const approvers = approversOf(ports, request.tenant, [request]);
  const isOwn = request.requestedBy === requestedBy;
  const quotas = questionFacts(ports, askerAbout(actor, call), isOwn ? request : { ...request, requestedBy: null });
  return {
    ...{ type: 'RequestApproval', at, round, approvalId: approvalIdOf(request.callId, round) },
    ...judgeRecorded(ports, call, {
      needsApproval: true,
      expiresInMs: body.expiresInMs ?? null,
      allowedDecisions: body.allowedDecisions ?? null,
    }),
    ...{ reason: body.reason ?? null, description: body.description ?? null, requestedBy, reach: reachOf(actor) },
    ...(approvers !== null && { approvers }),
    ...(quotas !== null && { quotas }),
    stopsOver: stopsOver(ports.stops.known(request.tenant), request),
  };
}

async function afterQuestion(
  ports: CommandPorts,
  outcome: Result<ToolCall> & { readonly status: 'done' },
): Promise<Result> {
  const { value: call, position } = outcome;
  const isBlocked = call.permission.status === 'blocked';
  const isEndedInside = !isBlocked && (await endIfInsideCancelled(ports, [call.request])) > 0;
  return isEndedInside
    ? answered(call, position, { fate: undefined, isEndedInside })
    : unlessDecided(ports, call, position);
}

/** An admin who asks about the call of another principal is no agent that names agents. */
function askerAbout(actor: Actor, { request: { agentId, requestedBy } }: ToolCall): Asker {
  const own = askerOf(actor, agentId);
  return requestedBy === actor.principal ? own : { ...own, principal: requestedBy, namesFreely: false };
}

/** The batch may have got its word while the question was recorded: then the question is closed again. */
export async function unlessDecided(ports: CommandPorts, call: ToolCall, position: number): Promise<Result> {
  const settledAt = await settleBatch(ports, call);
  const fate = settledAt === 0 && !call.committed ? undefined : (await fateOf(ports, call)).status;
  return answered(call, position, { fate, isEndedInside: false });
}

function answered(call: ToolCall, position: number, facts: Parameters<typeof askedNobody>[1]): Result {
  const refusal = askedNobody(call, facts);
  return refusal === undefined ? { status: 'done', value: undefined, position } : { status: 'refused', refusal };
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
    { tenant: actor.tenant, callId, commandId, by: actor, isRepeat: isSameQuestion(body) },
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
