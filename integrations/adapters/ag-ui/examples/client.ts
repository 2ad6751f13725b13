// A client of the server, which this program starts too. It resumes the run until people have decided.
import { setTimeout } from 'node:timers/promises';
import { HttpAgent, type AgentSubscriber } from '@ag-ui/client';
import { contentToText } from '@ag-ui/core';
import './server.ts';

const client = new HttpAgent({ url: 'http://127.0.0.1:8000' });
const subscriber: AgentSubscriber = {
  onToolCallResultEvent: ({ event }) => console.log(`The result of the refund: ${contentToText(event.content)}`),
  onRunErrorEvent: ({ event }) => {
    console.error(event.message);
    process.exit(1);
  },
};

await client.runAgent({}, subscriber);
for (const { message } of client.pendingInterrupts) console.log(message);
while (client.pendingInterrupts.length > 0) {
  // An interface waits for its user here.
  await setTimeout(1_000);
  const resume = client.pendingInterrupts.map(({ id }) => ({ interruptId: id, status: 'resolved' as const }));
  await client.runAgent({ resume }, subscriber);
}
process.exit();
