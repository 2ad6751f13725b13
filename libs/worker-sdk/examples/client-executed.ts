// A tool that only the user's own client can run: Countersign asks and records, the client executes.
import { createInterface } from 'node:readline/promises';
import { createWorker, gateTool } from '@countersign/worker-sdk';
import { z } from 'zod';

const inputSchema = z.strictObject({ question: z.string() });
const askUser = gateTool({
  name: 'ask_user',
  inputSchema,
  clientExecuted: true,
});

const worker = createWorker({
  url: 'http://127.0.0.1:7400',
  token: process.env['COUNTERSIGN_TOKEN'] ?? '',
  agentId: 'agent',
  tools: [askUser],
});

const toolCalls = [{ toolCallId: 'call_1', toolName: 'ask_user', arguments: { question: 'Your name?' } }];
const { clientCalls, state } = await worker.run({ runId: 'run-44', toolCalls });

const terminal = createInterface({ input: process.stdin, output: process.stdout });
for (const call of clientCalls) {
  const { question } = inputSchema.parse(call.arguments);
  const reply = await terminal.question(`${question} `);
  await worker.submitOutput(call.callId, { reply });
}
terminal.close();

const { results } = await worker.resume(state);
console.log(results);
