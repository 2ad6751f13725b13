import type { Task } from '@modelcontextprotocol/sdk/types.js';

/** Sends each new status of a task once. The statuses of one task are read and sent in turn, so they are in order. */
export function createStatusNews(
  read: (callId: string) => Promise<Task>,
  send: (task: Task) => void,
): (callId: string) => void {
  const told = new Map<string, string>();
  const telling = new Map<string, Promise<void>>();

  const tell = async (callId: string): Promise<void> => {
    const task = await read(callId);
    const news = `${task.status} ${task.lastUpdatedAt}`;
    if (told.get(callId) === news) return;
    told.set(callId, news);
    send(task);
  };
  return (callId) => {
    const before = telling.get(callId) ?? Promise.resolve();
    // The notification is a service: a client asks by itself.
    const done = before.then(() => tell(callId)).catch(() => undefined);
    telling.set(callId, done);
    void done.then(() => {
      if (telling.get(callId) === done) telling.delete(callId);
    });
  };
}
