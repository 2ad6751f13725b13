// A client of the server, which this program starts too. It sends messages to the task until people have decided.
import { setTimeout } from 'node:timers/promises';
import { type Message, SendMessageRequest, type Task, TaskState } from '@a2a-js/sdk';
import { ClientFactory } from '@a2a-js/sdk/client';
import { card } from './server.ts';

const client = await new ClientFactory().createFromAgentCard(card);

const textOf = (message?: Message): string =>
  message?.parts.flatMap(({ content }) => (content?.$case === 'text' ? [content.value] : [])).join('\n') ?? '';

async function say(text: string, taskId = ''): Promise<Task> {
  const message = { messageId: crypto.randomUUID(), taskId, role: 'ROLE_USER', parts: [{ text }] };
  const reply = await client.sendMessage(SendMessageRequest.fromJSON({ message }));
  if ('status' in reply) return reply;
  throw new Error(`The agent replied without a task: ${textOf(reply)}`);
}

let task = await say('Refund 50, please.');
console.log(textOf(task.status?.message));
while (task.status?.state === TaskState.TASK_STATE_INPUT_REQUIRED) {
  // An agent that calls this one waits for its own user here.
  await setTimeout(1_000);
  task = await say('Look again.', task.id);
}
const text = textOf(task.status?.message);
if (task.status?.state === TaskState.TASK_STATE_COMPLETED) console.log(`The result of the refund: ${text}`);
else {
  console.error(text);
  process.exitCode = 1;
}
process.exit();
