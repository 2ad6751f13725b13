import { dueCommand, toolCallDecider } from '@countersign/domain';
import { inBatch, settleBatch } from './batch.js';
import { withToolCall } from './with-tool-call.js';
import { refused } from './result.js';
import type { CommandPorts } from './ports.js';

/**
 * Fires a call's deadline if it is due: expiry, escalation, reminder, lapse of the right to run, lapse of a claim.
 * Returns the log's position afterwards, or null when nothing was due.
 */
export async function fireDue(ports: CommandPorts, tenant: string, callId: string): Promise<number | null> {
  const commandId = ports.ids.uuid();
  const outcome = await withToolCall(ports, { tenant, callId, commandId }, toolCallDecider.decide, (call, at) => {
    const due = dueCommand(call, at);
    if (due === null) return refused('not-due', 'nothing is due');
    const mayEnd = due.type === 'ExpireApproval' || due.type === 'LapseApproval';
    return mayEnd ? inBatch(ports, call, due, commandId) : due;
  });
  if (outcome.status === 'refused') return null;
  return Math.max(outcome.position, await settleBatch(ports, outcome.value));
}
