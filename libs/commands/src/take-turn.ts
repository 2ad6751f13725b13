import { toolCallRules } from '@countersign/domain';
import type { CommandPorts } from './ports.js';
import { withToolCall } from './stream/with-tool-call.js';

/**
 * Records that the turn of a sequential call has come: it is allowed, or people are asked; or it is cancelled, where the denial
 * of `endedBy` has ended its run since it began to wait. MUST be given only for the first call of its queue that is not settled,
 * as some prefix of the log shows it, with `endedBy` of the same prefix. Harmless to repeat. Returns the position of the
 * log afterwards; null: the call cannot be read.
 */
export async function takeTurn(
  ports: CommandPorts,
  tenant: string,
  callId: string,
  endedBy?: string,
): Promise<number | null> {
  const target = { tenant, callId, commandId: ports.ids.uuid() };
  const ended = endedBy === undefined ? {} : { endedBy };
  const outcome = await withToolCall(ports, target, toolCallRules.takeTurn, (_, at) => ({
    ...{ type: 'TakeTurn', at },
    ...ended,
  }));
  return outcome.status === 'done' ? outcome.position : null;
}
