import { toolCallRules } from '@countersign/domain';
import type { ToolCall } from '@countersign/domain';
import type { Actor } from '../actor.js';
import { reachOf } from '../actor.js';
import { doneByWord, inBatch, settleBatch } from '../batch.js';
import { saysTheSame } from '../stream/repeats.js';
import { withToolCall } from '../stream/with-tool-call.js';
import type { Result } from '../result.js';
import type { CommandPorts } from '../ports.js';

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
    {
      ...{ tenant: actor.tenant, callId, commandId, by: actor },
      isRepeat: (recorded) => saysTheSame(recorded, { ToolCallCancelled: (data) => data.reason === reason }),
    },
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
