// The agent of the README, compiled so that it stays correct. quickstart.ts is a runnable one.
import { createWorker, gateTool } from '@countersign/worker-sdk';
import { z } from 'zod';

const deleteFile = gateTool({
  name: 'delete_file',
  inputSchema: z.object({ path: z.string() }),
  needsApproval: ({ path }) => !path.startsWith('/workspace/'),
  execute: async ({ path }) => `deleted ${path}`,
});

const worker = createWorker({ url, token, resolverToken, agentId: 'janitor', tools: [deleteFile] });
const step = await worker.step({ runId: 'run-2', toolCalls });
if (step.hasPendingApprovals) console.log(step.pendingApprovals, step.state); // plain JSON: it survives a restart

// The imports that the README assumes.
type Step = Parameters<typeof worker.step>[0];
declare const url: string;
declare const token: string;
declare const resolverToken: string;
declare const toolCalls: Step['toolCalls'];
