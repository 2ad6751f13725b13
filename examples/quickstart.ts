// The smallest agent that requests approval. In one terminal `npm start`, in another
//  node scripts/run.mjs examples/quickstart.ts and then `npx countersign inbox` to decide.
import { createWorker, gateTool } from '@countersign/worker-sdk';
import { z } from 'zod';
import { findConnection } from './demo/connection.ts';

const sendMail = gateTool({
  name: 'send_mail',
  description: 'Sends an e-mail',
  inputSchema: z.strictObject({ to: z.email(), subject: z.string(), body: z.string() }),
  // Colleagues may be written to; everybody else a person looks at first.
  needsApproval: ({ to }) => !to.endsWith('@example.com'),
  approvalPrompt: ({ to, subject }) => `Send "${subject}" to ${to}`,
  execute: ({ to }) => ({ sentTo: to }),
});

const worker = createWorker({ ...findConnection(process.env), agentId: 'quickstart-agent', tools: [sendMail] });

// The calls of one model step: the first runs at once, the second waits.
const mailTo = (to: string) => ({ to, subject: 'Minutes', body: 'See attachment.' });
const outcome = await worker.run(
  {
    runId: `quickstart-${String(Date.now())}`,
    toolCalls: [
      { toolCallId: 'call_1', toolName: 'send_mail', arguments: mailTo('ada@example.com') },
      { toolCallId: 'call_2', toolName: 'send_mail', arguments: mailTo('press@example.org') },
    ],
  },
  {
    onPause: ({ pendingApprovals }) => {
      for (const { approvalId, description } of pendingApprovals) {
        console.log(`waiting: ${description ?? ''}\n  npx countersign approve ${approvalId}`);
      }
    },
  },
);
for (const { status, arguments: args, output, message } of outcome.results) {
  console.log(args?.['to'], status, message ?? output);
}
await worker.close();
