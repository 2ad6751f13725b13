// An agent with Countersign in its own process: nothing else runs. People decide in the inbox at the address that it prints.
import { join } from 'node:path';
import { openCountersign } from '@countersign/standalone';
import { createWorker, gateTool } from '@countersign/worker-sdk';
import { z } from 'zod';

const sendMail = gateTool({
  name: 'send_mail',
  inputSchema: z.strictObject({ to: z.email(), subject: z.string() }),
  needsApproval: true,
  approvalPrompt: ({ to, subject }) => `Send "${subject}" to ${to}`,
  execute: ({ to }) => ({ sentTo: to }),
});

const data = process.env['COUNTERSIGN_DATA'] || './data';
const countersign = await openCountersign({ ...process.env, COUNTERSIGN_DATA: data });
console.log(`Decide at ${countersign.url} with the token of "me" in ${join(data, 'tokens.json')}.`);
const worker = createWorker({ ...countersign.connection, agentId: 'in-process-agent', tools: [sendMail] });
const call = { toolCallId: 'call_1', toolName: 'send_mail', arguments: { to: 'press@example.org', subject: 'News' } };
const { results } = await worker.run({ runId: 'run-1', toolCalls: [call] });
console.log(results);
await worker.close();
await countersign.close();
