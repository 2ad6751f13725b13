import type { JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { isJSONRPCRequest } from '@modelcontextprotocol/sdk/types.js';
import type { TaskRun } from '../calls/task-run.js';
import { inputMethods, roundMember } from '../stateless/protocol.js';
import { cancelledBy, objectOf } from '../wire.js';

/** The runs of one connection. */
export interface AskingRuns {
  /** The runs that are tasks, and whose tool runs now. */
  readonly running: () => readonly TaskRun[];
  /** A request of a client for a tool is open: a question of a server that names no request may be about it. */
  readonly hasOpenCall: () => boolean;
}

/**
 * Takes a message of the server: its question about the run of a task, or the cancellation of such a question. Returns
 * whether it was a question about a task.
 */
export function askTask({ running, hasOpenCall }: AskingRuns, message: JSONRPCMessage): boolean {
  withdraw(running(), message);
  if (!isJSONRPCRequest(message) || !inputMethods.includes(message.method)) return false;
  const { token } = objectOf(message.params?.[roundMember]);
  const tasks = running();
  // The attack: a question about the call of one program is shown to the user of another.
  const only = tasks.length === 1 && !hasOpenCall() ? tasks[0] : undefined;
  const run = token === undefined ? only : tasks.find((one) => one.token === token);
  run?.questions.ask(message, run.capabilities ?? {});
  return run !== undefined;
}

function withdraw(runs: readonly TaskRun[], message: JSONRPCMessage): void {
  const questionId = cancelledBy(message);
  if (questionId !== undefined) for (const { questions } of runs) questions.withdraw(questionId);
}
