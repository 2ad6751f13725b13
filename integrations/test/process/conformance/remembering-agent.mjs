// A faulty agent: its paused runs are in the memory of its process, and its state says only in which.
import { connectKit } from '@countersign/conformance';
import { createWorker, gateTool, modelText } from '@countersign/worker-sdk';

const { start, workerOptions, body, end } = await connectKit();
const paused = (globalThis.pausedRuns ??= new Set());

const refund = gateTool({
  name: 'refund',
  inputSchema: { type: 'object', properties: { amount: { type: 'integer' } }, required: ['amount'] },
  needsApproval: true,
  execute: (args, { toolCallId }) => body('refund', toolCallId, args),
});
const worker = createWorker({ ...workerOptions, tools: [refund] });

await end(async () => {
  if (start.state !== null && !paused.has(start.runId)) throw new Error('this process has no such run');
  const [call] = start.turns.flat();
  const { result } = await worker.call({ ...call, runId: start.runId });
  if (result !== null) return { event: 'finished', told: { [call.toolCallId]: modelText(result) }, final: 'done' };
  paused.add(start.runId);
  return { event: 'paused', state: String(process.pid) };
});
