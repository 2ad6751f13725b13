// A faulty agent: it runs its tool through the ledger, but each resumed process makes the calls under new ids. A framework that
// replays a turn of the model does the same.
import { connectKit } from '@countersign/conformance';
import { createWorker, gateTool, modelText } from '@countersign/worker-sdk';

const { start, workerOptions, body, end } = await connectKit();

const refund = gateTool({
  name: 'refund',
  inputSchema: { type: 'object', properties: { amount: { type: 'integer' } }, required: ['amount'] },
  needsApproval: true,
  execute: (args, { toolCallId }) => body('refund', toolCallId, args),
});
const worker = createWorker({ ...workerOptions, tools: [refund] });
const suffix = start.state === null ? '' : `-${process.pid}`;

await end(async () => {
  const calls = start.turns.flat();
  const told = {};
  for (const call of calls) {
    const { result } = await worker.call({ ...call, toolCallId: `${call.toolCallId}${suffix}`, runId: start.runId });
    if (result !== null) told[call.toolCallId] = modelText(result);
  }
  const isPaused = calls.some(({ toolCallId }) => told[toolCallId] === undefined);
  return isPaused ? { event: 'paused', state: 'waiting' } : { event: 'finished', told, final: 'done' };
});
