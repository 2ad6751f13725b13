import { TaskStatusSchema, type Task } from '@modelcontextprotocol/sdk/types.js';
import type { InnerRequests } from './inner-requests.js';
import type { Reply } from '../wire.js';
import { saidByServer } from './foreign-words.js';

/** Returns how a task of the inner server is. It has no members when the server does not say so in time. Never rejects. */
export type InnerStatus = (taskId: string) => Promise<Partial<Task>>;

/** The client asks again after its poll interval, so it does not wait longer. */
const statusMsMax = 2_000;

/** The status of one task. At most one request is open at a time: a server that never responds is not asked again. */
export function createInnerStatus(requests: Pick<InnerRequests, 'send'>): InnerStatus {
  let asking: Promise<Reply> | undefined;
  const ask = async (taskId: string): Promise<Reply> => {
    try {
      return await requests.send('tasks/get', { taskId }).reply;
    } finally {
      asking = undefined;
    }
  };
  return async (taskId) => {
    const { promise: overdue, resolve } = Promise.withResolvers<undefined>();
    const timer = setTimeout(resolve, statusMsMax, undefined);
    try {
      return statusIn(await Promise.race([(asking ??= ask(taskId)), overdue]));
    } catch {
      return {};
    } finally {
      clearTimeout(timer);
    }
  };
}

function statusIn(reply: Reply | undefined): Partial<Task> {
  if (reply === undefined || 'error' in reply) return {};
  const { status, statusMessage } = reply.result;
  const known = TaskStatusSchema.extract(['working', 'input_required']).safeParse(status);
  if (!known.success) return {};
  return {
    status: known.data,
    ...(typeof statusMessage === 'string' ? { statusMessage: saidByServer(statusMessage) } : {}),
  };
}
