// An agent that may delete files of its workspace, and has to ask for all others.
import { unlink } from 'node:fs/promises';
import { createWorker, gateTool } from '@countersign/worker-sdk';
import { z } from 'zod';

const deleteFile = gateTool({
  name: 'delete_file',
  description: 'Deletes a file',
  inputSchema: z.strictObject({ path: z.string() }),
  needsApproval: ({ path }) => !/^\/workspace\/[\w-]+\.txt$/.test(path),
  approvalPrompt: ({ path }) => `Delete ${path}?`,
  execute: async ({ path }) => {
    await unlink(path);
    return { deleted: path };
  },
});

const worker = createWorker({
  url: process.env['COUNTERSIGN_URL'] ?? 'http://127.0.0.1:7400',
  token: process.env['COUNTERSIGN_TOKEN'] ?? '',
  resolverToken: process.env['COUNTERSIGN_RESOLVER_TOKEN'] ?? '',
  agentId: 'agent',
  tools: [deleteFile],
});

// The tool calls of one model step.
const outcome = await worker.run(
  {
    runId: 'run-42',
    toolCalls: [{ toolCallId: 'call_1', toolName: 'delete_file', arguments: { path: 'countersign-example.txt' } }],
  },
  { onPause: ({ pendingApprovals }) => console.log('waiting for', pendingApprovals.length, 'approval(s)') },
);
for (const result of outcome.results) {
  console.log(result.toolName, result.status, result.message ?? result.output);
}
await worker.close();
