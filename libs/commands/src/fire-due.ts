import { dueCommand, toolCallDecider } from '@countersign/domain';
import { inBatch, settleBatch } from './batch.js';
import { onCall } from './on-call.js';
import { rejected } from './outcome.js';
import type { CommandPorts } from './ports.js';

/**
 * Records what a call's deadline, if it has come, brings: expiry, escalation, reminder, lapse of the right to run, lapse
 * of a claim. Answers the log's position afterwards, or null when nothing was due.
 */
export async function fireDue(ports: CommandPorts, tenant: string, callId: string): Promise<number | null> {
  const commandId = ports.ids.uuid();
  const outcome = await onCall(ports, { tenant, callId, commandId }, toolCallDecider.decide, (call, at) => {
    const due = dueCommand(call, at);
    if (due === null) return rejected('not-due', 'nothing is due');
    const mayEnd = due.type === 'ExpireApproval' || due.type === 'LapseApproval';
    return mayEnd ? inBatch(ports, call, due, commandId) : due;
  });
  if (outcome.status === 'rejected') return null;
  return Math.max(outcome.position, await settleBatch(ports, outcome.value));
}
