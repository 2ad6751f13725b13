import { dueCommand } from '@countersign/domain';
import { closeBatchOf } from './batch.js';
import { onCall } from './on-call.js';
import { rejected } from './outcome.js';
import type { CommandPorts } from './ports.js';

/**
 * Records what a call's deadline, if it has come, brings: expiry, escalation, reminder, lapse of the right to run, lapse
 * of a claim. Answers the log's position afterwards, or null when nothing was due.
 */
export async function fireDue(ports: CommandPorts, tenant: string, callId: string): Promise<number | null> {
  const outcome = await onCall(ports, { tenant, callId, commandId: ports.ids.uuid() }, (call, at) => {
    return dueCommand(call, at) ?? rejected('not-due', 'nothing is due');
  });
  if (outcome.status === 'rejected') return null;
  return Math.max(outcome.position, await closeBatchOf(ports, outcome.value));
}
