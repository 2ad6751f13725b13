// An agent without a framework that the conformance kit can try: copy it, and put a framework in the place of `answer`.
import { connectKit } from '@countersign/conformance';
import { createWorker, gateTool, modelText, type Worker } from '@countersign/worker-sdk';

const { start, workerOptions, body, end } = await connectKit();

const worker: Worker = createWorker({
  ...workerOptions,
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
      execute: (args, { toolCallId }) => body('refund', toolCallId, args),
    }),
  ],
});

/**
 * Goes through the turns of the model from the beginning. The ledger has the results of the calls behind the gate; the state
 * has those of the others, so that they run once.
 */
async function answer() {
  const told = JSON.parse(start.state ?? '{}') as Record<string, string>;
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
    if (turn.some(({ toolCallId }) => told[toolCallId] === undefined))
      return { event: 'paused', state: JSON.stringify(told) } as const;
  }
  return { event: 'finished', told, final: 'done' } as const;
}

await end(async () => {
  try {
    return await answer();
  } finally {
    await worker.close();
  }
});
