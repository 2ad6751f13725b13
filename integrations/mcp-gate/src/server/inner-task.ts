import { ConnectionLostError, NotSentError, type InnerRequest, type InnerRequests } from './inner-requests.js';
import { objectOf, type Reply } from '../wire.js';

/**
 * Calls a tool that the inner server runs only as a task, and waits for the task's result.
 *
 * @param onTask called with the server's id of the task.
 */
export function sendAsTask(
  requests: InnerRequests,
  params: Readonly<Record<string, unknown>>,
  onTask: (taskId: string) => void,
): InnerRequest {
  const creation = requests.send('tools/call', { ...params, task: {} });
  let taskId: string | undefined;
  let isCancelled = false;
  const result = async (): Promise<Reply> => {
    const created = await creation.reply;
    taskId = 'result' in created ? taskIdOf(created.result) : undefined;
    // An error, or the result of a server that ignores the member `task`.
    if (taskId === undefined) return created;
    onTask(taskId);
    if (isCancelled) requests.send('tasks/cancel', { taskId });
    return requests.send('tasks/result', { taskId }).reply.catch(lost);
  };
  const reply = result();
  reply.catch(() => undefined);
  return {
    reply,
    cancel: () => {
      isCancelled = true;
      if (taskId !== undefined) requests.send('tasks/cancel', { taskId });
    },
  };
}

/** The task runs, also when the request for its result was not sent. */
function lost(error: unknown): never {
  throw error instanceof NotSentError ? new ConnectionLostError(error.message) : error;
}

function taskIdOf(result: Readonly<Record<string, unknown>>): string | undefined {
  const { taskId } = objectOf(result['task']);
  return typeof taskId === 'string' ? taskId : undefined;
}
