import { approvalUrl, modelText, resultOf, type ToolCallView } from '@countersign/worker-sdk';
import type { Task } from '@modelcontextprotocol/sdk/types.js';

/** A client that does not wait for the result asks about the task this often. */
export const pollIntervalMs = 2000;

/** The facts about a task that its call does not have. */
export interface TaskFacts {
  readonly taskId: string;
  readonly inboxUrl: string;
}

/** The call as a task. The ledger keeps it, so it has no end of life. */
export function taskOf(call: ToolCallView, { taskId, inboxUrl }: TaskFacts): Task {
  const { requestedAt, settledAt, approval } = call;
  return {
    taskId,
    ...statusOf(call, inboxUrl),
    ttl: null,
    createdAt: requestedAt,
    lastUpdatedAt: settledAt ?? approval?.resolvedAt ?? requestedAt,
    pollInterval: pollIntervalMs,
  };
}

/** Returns where people decide about a call; undefined when it does not wait for them. */
export function waitingMessage({ state, approval, toolName }: ToolCallView, inboxUrl: string): string | undefined {
  if (state !== 'awaiting_approval' || approval === null) return undefined;
  const url = approvalUrl(inboxUrl, approval.approvalId);
  return `Approval ${approval.approvalId} of ${toolName} waits for a person, who decides at ${url}`;
}

/** A task in one of these states stays in it. */
export function isTerminal({ status }: Pick<Task, 'status'>): boolean {
  return status === 'completed' || status === 'failed' || status === 'cancelled';
}

/** People are not the requestor, so a task that waits for them is `working`, not `input_required`. */
function statusOf(call: ToolCallView, inboxUrl: string): Pick<Task, 'status' | 'statusMessage'> {
  const result = resultOf(call);
  if (result === undefined) {
    const statusMessage = waitingMessage(call, inboxUrl);
    return { status: 'working', ...(statusMessage === undefined ? {} : { statusMessage }) };
  }
  if (result.status === 'succeeded') return { status: 'completed' };
  return { status: result.status === 'cancelled' ? 'cancelled' : 'failed', statusMessage: modelText(result) };
}
