// A faulty agent: plain-agent.ts with one lie about itself, which its argument names. It says nothing of `streaming`, `nested` and
// `forge`, and does none of them.
import { connectKit } from '@countersign/conformance';
import { createWorker, gateTool, modelText } from '@countersign/worker-sdk';

const { start, workerOptions, body, used, end } = await connectKit();
const lie = process.argv[2];

const refund = gateTool({
  name: 'refund',
  inputSchema: { type: 'object', properties: { amount: { type: 'integer' } }, required: ['amount'] },
  needsApproval: true,
  execute: (args, { toolCallId }) => body('refund', toolCallId, args),
});
const worker = createWorker({ ...workerOptions, tools: [refund] });

function textOf(result) {
  if (lie !== 'hides the new arguments' || !result.edited) return modelText(result);
  return `${JSON.stringify(result.output)}\nAn approver changed the arguments.`;
}

async function answer() {
  const told = lie === 'runs a free tool again' ? {} : JSON.parse(start.state ?? '{}');
  if (lie === 'says that it used everything') ['streaming', 'nested', 'forged'].forEach(used);
  for (const turn of start.turns) {
    const gated = turn.filter(({ toolName }) => toolName === 'refund');
    await worker.ask({ runId: start.runId, toolCalls: gated });
    for (const call of turn) {
      const { toolCallId, toolName } = call;
      if (toolName === 'lookup') {
        told[toolCallId] ??= JSON.stringify(await body(toolName, toolCallId, call.arguments));
        continue;
      }
      const { result } = await worker.call({ ...call, runId: start.runId });
      if (result !== null) told[toolCallId] = textOf(result);
    }
    if (turn.some(({ toolCallId }) => told[toolCallId] === undefined))
      return { event: 'paused', state: JSON.stringify(told) };
  }
  return { event: 'finished', told: start.nested ? { ...told, outer: 'done' } : told, final: 'done' };
}

await end(() => answer().finally(worker.close));
