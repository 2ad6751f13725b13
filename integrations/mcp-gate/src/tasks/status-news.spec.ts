import { expect, it } from '@jest/globals';
import type { Task } from '@modelcontextprotocol/sdk/types.js';
import { createStatusNews } from './status-news.js';

const at = '2030-01-01T00:00:00.000Z';
const taskOf = (taskId: string, status: Task['status']): Task => ({
  ...{ taskId, status, ttl: null, createdAt: at, lastUpdatedAt: at },
});

const tick = () => new Promise((resolve) => setTimeout(resolve, 0));

/** Reads that end when the spec says so, each with what was true when it began. */
function open() {
  const reads: (() => void)[] = [];
  const sent: string[] = [];
  let status: Task['status'] = 'working';
  const read = async (callId: string): Promise<Task> => {
    const task = taskOf(callId, status);
    await new Promise<void>((resolve) => reads.push(resolve));
    return task;
  };
  const tell = createStatusNews(read, (task) => sent.push(`${task.taskId} ${task.status}`));
  const complete = (): void => {
    status = 'completed';
  };
  /** Ends the reads that have begun, the last one first. */
  const endReads = async (): Promise<void> => {
    for (const end of reads.splice(0).reverse()) end();
    await tick();
  };
  return { tell, sent, complete, endReads };
}

it('sends the statuses of a task in order, also when an early read takes longest', async () => {
  const { tell, sent, complete, endReads } = open();
  tell('one');
  await tick();
  complete();
  tell('one');
  await tick();
  for (let i = 0; i < 3; i += 1) await endReads();
  expect(sent).toEqual(['one working', 'one completed']);
});

it('sends a status once, and lets no task wait for another', async () => {
  const { tell, sent, endReads } = open();
  for (const callId of ['one', 'one', 'other']) tell(callId);
  await tick();
  await endReads();
  expect(sent).toEqual(['other working', 'one working']);
  await endReads();
  expect(sent).toHaveLength(2);
});
