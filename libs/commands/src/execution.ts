import type { ClientOutputBody, OutcomeBody, ToolCallEvent } from '@countersign/contracts';
import { areEqualJson, toolCallRules } from '@countersign/domain';
import type { Outcome as ExecutionOutcome, ToolCall } from '@countersign/domain';
import { reachOf } from './actor.js';
import type { Actor } from './actor.js';
import { builtToRun, closedIfBroken, heldByAnother } from './claim.js';
import { stopped } from './stops/stopped.js';
import { forbidden } from './stream/forbidden.js';
import { saysTheSame } from './stream/repeats.js';
import { withToolCall } from './stream/with-tool-call.js';
import { oversizeResult } from './people/output-size.js';
import type { Result } from './result.js';
import type { CommandPorts } from './ports.js';

/** Records the claimer's report of the outcome. */
export async function reportExecution(
  ports: CommandPorts,
  actor: Actor,
  callId: string,
  body: OutcomeBody,
  commandId: string,
): Promise<Result> {
  const oversize = oversizeResult(body);
  if (oversize !== undefined) return oversize;
  const outcome = await withToolCall(
    ports,
    { tenant: actor.tenant, callId, commandId, isRepeat: isSameOutcome(body, body.attempt) },
    toolCallRules.reportExecution,
    (call, at) =>
      heldByAnother(actor, call) ?? {
        type: 'ReportExecution',
        at,
        attempt: body.attempt,
        outcome: toExecutionOutcome(body),
        reportedBy: actor.principal,
      },
  );
  return withoutValue(outcome);
}

/** The claimer gives up its claim: the outcome of the tool stays unknown. */
export async function abandonClaim(
  ports: CommandPorts,
  actor: Actor,
  callId: string,
  body: { readonly attempt: number; readonly reason: string },
  commandId: string,
): Promise<Result> {
  const outcome = await withToolCall(
    ports,
    { tenant: actor.tenant, callId, commandId },
    toolCallRules.lapseClaim,
    (call, at) =>
      heldByAnother(actor, call) ?? { type: 'LapseClaim', at, attempt: body.attempt, abandoned: body.reason },
  );
  return withoutValue(outcome);
}

/** Records the result of a client-executed call. */
export async function submitClientOutput(
  ports: CommandPorts,
  actor: Actor,
  callId: string,
  body: ClientOutputBody,
  commandId: string,
): Promise<Result> {
  const oversize = oversizeResult(body);
  if (oversize !== undefined) return oversize;
  const outcome = await withToolCall(
    ports,
    { tenant: actor.tenant, callId, commandId, by: actor, isRepeat: isSameOutcome(body, null) },
    toolCallRules.submitClientOutput,
    (call) => {
      const by = { submittedBy: actor.principal, reach: reachOf(actor) };
      const build = () =>
        stopped(ports, call.request) ??
        forbidden(ports, call.request, 'run') ??
        ({ type: 'SubmitClientOutput', at: ports.clock.now(), outcome: toExecutionOutcome(body), ...by } as const);
      return builtToRun(ports, call, build, commandId);
    },
  );
  if (outcome.status === 'refused') return closedIfBroken(ports, actor.tenant, callId, outcome);
  return withoutValue(outcome);
}

/** A person records the real outcome of an execution whose outcome was unknown. */
export async function reconcile(
  ports: CommandPorts,
  actor: Actor,
  callId: string,
  body: { readonly status: 'succeeded' | 'failed' | 'retry'; readonly note: string },
  commandId: string,
): Promise<Result> {
  const outcome = await withToolCall(
    ports,
    {
      ...{ tenant: actor.tenant, callId, commandId, by: actor },
      isRepeat: (recorded) =>
        saysTheSame(recorded, {
          ExecutionReconciled: ({ status, note }) => status === body.status && note === body.note,
        }),
    },
    toolCallRules.reconcileExecution,
    (_, at) => ({
      type: 'ReconcileExecution',
      at,
      status: body.status,
      note: body.note,
      reconciledBy: actor.principal,
    }),
  );
  return withoutValue(outcome);
}

function isSameOutcome(body: OutcomeBody | ClientOutputBody, attempt: number | null) {
  return (recorded: readonly ToolCallEvent[]): boolean =>
    saysTheSame(recorded, {
      ExecutionSucceeded: (told) =>
        told.attempt === attempt && body.status === 'succeeded' && areEqualJson(told.output, body.output),
      ExecutionFailed: (told) =>
        told.attempt === attempt && body.status === 'failed' && areEqualJson(told.error, body.error),
    });
}

function toExecutionOutcome(body: OutcomeBody | ClientOutputBody): ExecutionOutcome {
  return body.status === 'succeeded'
    ? { status: 'succeeded', output: body.output }
    : { status: 'failed', error: body.error };
}

/** The outcome without what it led to: the read model shows that. */
export function withoutValue(outcome: Result<ToolCall>): Result {
  return outcome.status === 'refused' ? outcome : { status: 'done', value: undefined, position: outcome.position };
}
