// An agent without a framework that the conformance kit can try: copy it, and put a framework in the place of `answer`.
import { createInterface } from 'node:readline';
import type { AgentEvent, AgentStart, ToolReply } from '@countersign/conformance';
import { createWorker, gateTool, modelText, type Worker } from '@countersign/worker-sdk';

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const read = async <T>(): Promise<T> => JSON.parse(String((await lines.next()).value)) as T;
const print = (event: AgentEvent): void => console.log(JSON.stringify(event));

const start = await read<AgentStart>();

/** The body of each tool: the kit says what it returns. */
async function body(toolName: string, toolCallId: string, args: Record<string, unknown>): Promise<unknown> {
  print({ event: 'tool', toolName, toolCallId, arguments: args as { [key: string]: string } });
  return (await read<ToolReply>()).output;
}

const worker: Worker = createWorker({
  url: start.url,
  token: start.agentToken,
  resolverToken: start.workerToken,
  agentId: start.agentId,
  leaseMs: start.leaseMs,
  tools: [
    gateTool({
      name: 'refund',
      inputSchema: {
        type: 'object',
        properties: { amount: { type: 'integer' } },
        required: ['amount'],
        additionalProperties: false,
      },
      needsApproval: true,
      execute: (args, { toolCallId }) => body('refund', toolCallId, args as Record<string, unknown>),
    }),
  ],
});

/** Goes through the turns of the model from the beginning: what has ended is answered by the ledger. */
async function answer(): Promise<AgentEvent> {
  const told: Record<string, string> = {};
  for (const turn of start.turns) {
    const gated = turn.filter(({ toolName }) => toolName === 'refund');
    await worker.ask({ runId: start.runId, toolCalls: [...gated] });
    for (const call of turn) {
      const { toolCallId, toolName } = call;
      if (toolName === 'lookup') {
        told[toolCallId] ??= JSON.stringify(await body(toolName, toolCallId, call.arguments));
        continue;
      }
      const { result } = await worker.call({ ...call, runId: start.runId });
      if (result !== null) told[toolCallId] = modelText(result);
    }
    if (turn.some(({ toolCallId }) => told[toolCallId] === undefined)) return { event: 'paused', state: start.runId };
  }
  return { event: 'finished', told, final: 'done' };
}

print(await answer());
await worker.close();
process.exit(0);
