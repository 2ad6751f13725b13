import { queuedIn, toolCallDecider } from '@countersign/domain';
import type { ToolCall, ToolCallState } from '@countersign/domain';
import type { CallRow } from './call-row.js';
import type { ApprovalOfCall } from './read-model.js';

/**
 * Returns the approval that begins at the turn of a call that waits for it, as it was recorded; undefined: people will not be asked
 * then. `at`: epoch milliseconds.
 */
export function waitingApproval(call: CallRow, at: number): ApprovalOfCall | undefined {
  const question = queuedIn(call)?.question ?? null;
  if (question === null || call.verdict === null) return undefined;
  const { approvalId, round } = question;
  // The rule reads nothing that the row leaves in the log.
  const waiting = call as unknown as ToolCall;
  const judgement = { outcome: 'allow', verdict: call.verdict } as const;
  const turn = toolCallDecider.decide({ type: 'TakeTurn', at, round, approvalId, judgement }, waiting);
  if (turn.status === 'refused') return undefined;
  const asked = turn.events.reduce<ToolCallState>(toolCallDecider.evolve, waiting);
  const approval = asked.status === 'recorded' ? asked.approvals.at(-1) : undefined;
  return approval?.approvalId === approvalId ? { call, approval } : undefined;
}
