// An agent with Countersign in its own process, to be killed. It notes each run of its tool in a file.
import { appendFileSync } from 'node:fs';
import { openCountersign } from '@countersign/standalone';
import { createWorker, gateTool } from '@countersign/worker-sdk';
import { z } from 'zod';

const note = (line: string): void => {
  appendFileSync('runs.log', `${line}\n`);
};
const work = gateTool({
  name: 'work',
  inputSchema: z.strictObject({ n: z.int() }),
  needsApproval: true,
  execute: ({ n }) => {
    note(`ran ${String(n)}`);
    return { n };
  },
});

const countersign = await openCountersign();
const worker = createWorker({ ...countersign.connection, agentId: 'agent', tools: [work] });
const toolCalls = [{ toolCallId: 'c1', toolName: 'work', arguments: { n: 1 } }];
const first = await worker.step({ runId: 'run-1', toolCalls }, { timeoutMs: 0 });
note(first.stopReason === null ? 'settled' : 'waits');
const { results } = first.stopReason === null ? first : await worker.wait(first.state);
note(`result ${JSON.stringify(results.map(({ status }) => status))}`);
await worker.close();
await countersign.close();
