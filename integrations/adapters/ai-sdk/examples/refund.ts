import { gateTools } from '@countersign/ai-sdk';
import { generateText, isStepCount, tool, type ModelMessage } from 'ai';
import { z } from 'zod';
import { model } from './model.ts';

const refund = tool({
  description: 'Refunds an amount',
  inputSchema: z.strictObject({ amount: z.number() }),
  execute: ({ amount }) => ({ refunded: amount }),
});
const url = process.env['COUNTERSIGN_URL'] ?? 'http://127.0.0.1:7400';
const gate = gateTools(
  {
    url,
    token: process.env['COUNTERSIGN_TOKEN'] ?? '',
    resolverToken: process.env['COUNTERSIGN_RESOLVER_TOKEN'] ?? '',
    agentId: 'support',
  },
  { refund },
  { refund: { needsApproval: ({ amount }) => amount > 10, approvalPrompt: ({ amount }) => `Refund ${amount}?` } },
);
const runId = 'chat-42';
const { tools, toolApproval, resume } = gate.run(runId);

let messages: ModelMessage[] = [{ role: 'user', content: 'Refund 50, please.' }];
for (;;) {
  // In a server: store the messages and end here; resume in any process, for example when an event arrives.
  const resumed = await resume(messages, { timeoutMs: 60_000 });
  if (resumed.pending.length > 0) continue;
  const options = { model, tools, toolApproval, messages: resumed.messages, stopWhen: isStepCount(10) };
  const { text, finishReason, responseMessages } = await generateText(options);
  messages = [...resumed.messages, ...responseMessages];
  if (finishReason === 'tool-calls') {
    for (const { approvalId } of await gate.worker.pending(runId))
      console.log(`Decide: ${url}/approvals/${approvalId}`);
    continue;
  }
  console.log(text);
  break;
}
await gate.close();
