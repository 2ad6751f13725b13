import type { Refusal } from '@countersign/contracts';
import { abandonClaim, claim, findCall, renewClaim, reportExecution, serviceResolver } from '@countersign/commands';
import type { Actor, ClaimReceipt, CommandPorts, Result } from '@countersign/commands';
import { callState, fileStopId } from '@countersign/domain';
import type { ToolCall } from '@countersign/domain';
import { isStoreOutage } from '@countersign/event-store';
import type { Ids } from '@countersign/runtime';
import type { Receipts } from '@countersign/shell';
import { ExecutionsUnavailableError } from './executions.js';
import type { ExecutableCall, ExecutionAnswer, Executions } from './executions.js';

/** The ledger as the resolver sees it, over the commands of the same process. Without `receipts` its claims have none. */
export function createExecutions(commands: CommandPorts, ids: Ids, receipts?: Pick<Receipts, 'sign'>): Executions {
  const receiptOf = ({ receipt }: { readonly receipt: () => ClaimReceipt | undefined }) =>
    receipts &&
    ((): string | undefined => {
      const claimed = receipt();
      return claimed && receipts.sign(claimed);
    });
  return {
    find: async (tenant, callId) => {
      const call = await answered(findCall(commands, tenant, callId));
      return call === undefined ? undefined : toExecutableCall(call);
    },
    claim: async (tenant, callId, { commandId, ...body }) => {
      const outcome = await answered(claim(commands, resolverOf(tenant), callId, body, commandId));
      if (outcome.status === 'refused') {
        // No event tells of its end, unlike that of a stop in the log: the claim is tried until the file is gone.
        if (isByFile(outcome.refusal)) throw new ExecutionsUnavailableError(outcome.refusal.detail);
        return refused(outcome.refusal);
      }
      return { status: 'claimed', claim: outcome.value, receipt: receiptOf(outcome) };
    },
    renew: async (tenant, callId, body) => {
      const outcome = await answered(renewClaim(commands, resolverOf(tenant), callId, body, ids.uuid()));
      if (outcome.status === 'refused') return refused(outcome.refusal);
      return { status: 'recorded', receipt: receiptOf(outcome) };
    },
    report: async (tenant, callId, body) => {
      return toAnswer(await answered(reportExecution(commands, resolverOf(tenant), callId, body, ids.uuid())));
    },
    abandon: async (tenant, callId, body) => {
      return toAnswer(await answered(abandonClaim(commands, resolverOf(tenant), callId, body, ids.uuid())));
    },
  };
}

function resolverOf(tenant: string): Actor {
  return {
    tenant,
    principal: serviceResolver,
    roles: new Set(['resolver']),
    groups: [],
    agentIds: [],
    via: 'resolver',
    assurance: 'low',
  };
}

function toExecutableCall(call: ToolCall): ExecutableCall {
  const { callId, toolName, idempotent, clientExecuted, batchMode, batchCallIds } = call.request;
  const state = callState(call);
  return {
    toolName,
    claimable: !clientExecuted && (state === 'allowed' || state === 'approved'),
    idempotent,
    granted: call.approvals.flatMap(({ approvalId, resolution }) =>
      resolution.status === 'approved' ? [approvalId] : [],
    ),
    siblings: batchMode === 'all-or-nothing' ? batchCallIds.filter((sibling) => sibling !== callId) : [],
  };
}

/** A file in the data folder stops every call. */
function isByFile({ code, extra }: Refusal): boolean {
  const { stop } = (extra ?? {}) as { readonly stop?: { readonly stopId: string } };
  return code === 'stopped' && stop?.stopId === fileStopId;
}

/** The log cannot be read or written now. The call itself has no known problem. */
async function answered<T>(asked: Promise<T>): Promise<T> {
  try {
    return await asked;
  } catch (error) {
    if (isStoreOutage(error)) throw new ExecutionsUnavailableError(error.message, { cause: error });
    throw error;
  }
}

function toAnswer(outcome: Result<unknown>): ExecutionAnswer {
  return outcome.status === 'done' ? { status: 'recorded' } : refused(outcome.refusal);
}

function refused(refusal: Refusal): { readonly status: 'refused'; readonly refusal: Refusal } {
  return { status: 'refused', refusal };
}
