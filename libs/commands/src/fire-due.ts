import { currentApproval, dueCommand, toolCallDecider } from '@countersign/domain';
import { inBatch, settleBatch } from './batch.js';
import { withToolCall } from './with-tool-call.js';
import { refused } from './result.js';
import type { CommandPorts } from './ports.js';
import { votersOf } from './voters.js';

/**
 * Fires a call's deadline if it is due: expiry, escalation, reminder, lapse of the right to run, lapse of a claim.
 * Returns the log's position afterwards, or null when nothing was due.
 */
export async function fireDue(ports: CommandPorts, tenant: string, callId: string): Promise<number | null> {
  const commandId = ports.ids.uuid();
  const outcome = await withToolCall(ports, { tenant, callId, commandId }, toolCallDecider.decide, (call, at) => {
    const due = dueCommand(call, at);
    if (due === null) return refused('not-due', 'nothing is due');
    switch (due.type) {
      case 'ExpireApproval': {
        const voters = votersOf(ports, tenant, currentApproval(call), at);
        return inBatch(ports, call, { ...due, ...voters }, commandId);
      }
      case 'LapseApproval':
        return inBatch(ports, call, due, commandId);
      case 'RemindApprovers':
      case 'LapseClaim':
        return due;
    }
  });
  if (outcome.status === 'refused') return null;
  return Math.max(outcome.position, await settleBatch(ports, outcome.value));
}
