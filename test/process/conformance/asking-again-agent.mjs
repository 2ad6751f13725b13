// A faulty agent: it runs its tool through the ledger, but each resumed process makes the calls under new ids. A framework that
// replays a turn of the model does the same.
import { createInterface } from 'node:readline';
import { createWorker, gateTool, modelText } from '@countersign/worker-sdk';

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const read = async () => JSON.parse((await lines.next()).value);
const print = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);

const start = await read();
const refund = gateTool({
  name: 'refund',
  inputSchema: { type: 'object', properties: { amount: { type: 'integer' } }, required: ['amount'] },
  needsApproval: true,
  execute: async (args, { toolCallId }) => {
    print({ event: 'tool', toolName: 'refund', toolCallId, arguments: args });
    return (await read()).output;
  },
});
const worker = createWorker({
  url: start.url,
  token: start.agentToken,
  resolverToken: start.workerToken,
  agentId: start.agentId,
  leaseMs: start.leaseMs,
  tools: [refund],
});
const suffix = start.state === null ? '' : `-${process.pid}`;
const told = {};
for (const call of start.turns.flat()) {
  const { result } = await worker.call({ ...call, toolCallId: `${call.toolCallId}${suffix}`, runId: start.runId });
  if (result !== null) told[call.toolCallId] = modelText(result);
}
const isPaused = start.turns.flat().some(({ toolCallId }) => told[toolCallId] === undefined);
print(isPaused ? { event: 'paused', state: 'waiting' } : { event: 'finished', told, final: 'done' });
process.exit(0);
