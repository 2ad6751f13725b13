import type { ToolCallView } from '@countersign/worker-sdk';
import { statelessReply } from '../stateless/stateless-results.js';
import type { Reply } from '../wire.js';
import type { TaskRun } from '../calls/task-run.js';
import { pollIntervalMs, waitingMessage, type TaskFacts } from './task-view.js';

type Members = Readonly<Record<string, unknown>>;

/** How a call is told as a task of the extension. */
export interface TaskWords {
  /** The result of a call that has become a task. A task begins in the state `working`. */
  readonly created: (call: ToolCallView, facts: TaskFacts) => Reply;
  /** A call that has no result yet. `inputRequests` are the open questions of the server. */
  readonly open: (call: ToolCallView, facts: TaskFacts, inputRequests: Members) => Reply;
  /** The reply to a call that has ended before it was a task. */
  readonly direct: (call: ToolCallView, reply: Reply, run: TaskRun) => Reply;
  /** A call that has ended with a reply. */
  readonly ended: (call: ToolCallView, facts: TaskFacts, reply: Reply, run: TaskRun | undefined) => Reply;
}

/**
 * The words of the extension. A result with `isError: true` is a result of the call, so its task is `completed`; `failed` is
 * the task whose server replied with an error of JSON-RPC.
 */
export const plainWords: TaskWords = {
  created: (call, facts) => ({ result: { resultType: 'task', ...working(call, facts) } }),
  open: (call, facts, inputRequests) => {
    const task = working(call, facts);
    if (Object.keys(inputRequests).length === 0) return { result: task };
    return { result: { ...task, status: 'input_required', inputRequests } };
  },
  direct: (_call, reply) => reply,
  ended: (call, facts, reply, run) => ({ result: { ...baseOf(call, facts), ...endOf(call, reply, run) } }),
};

const statusMessage =
  'The client cancelled the task while its tool ran. It may or may not have taken effect; it is not run again.';

function endOf({ state }: ToolCallView, reply: Reply, run: TaskRun | undefined): Members {
  if (state === 'cancelled') return { status: 'cancelled' };
  const ran = run?.inner.reply();
  if (run?.isCancelled === true && (ran === undefined || 'error' in ran)) {
    return { status: 'cancelled', statusMessage };
  }
  const read = statelessReply('tools/call', reply, { serverInfo: undefined });
  if ('result' in read) return { status: 'completed', result: read.result };
  return { status: 'failed', statusMessage: read.error.message, error: read.error };
}

function working(call: ToolCallView, facts: TaskFacts): Record<string, unknown> {
  const statusMessage = waitingMessage(call, facts.inboxUrl) ?? `${call.toolName} runs.`;
  return { ...baseOf(call, facts), status: 'working', statusMessage };
}

function baseOf({ requestedAt, settledAt, approval }: ToolCallView, { taskId }: TaskFacts): Record<string, unknown> {
  const lastUpdatedAt = settledAt ?? approval?.resolvedAt ?? requestedAt;
  return { taskId, createdAt: requestedAt, lastUpdatedAt, ttlMs: null, pollIntervalMs };
}
