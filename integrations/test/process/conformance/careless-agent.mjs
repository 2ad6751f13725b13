// Asks, pauses, and then runs its tool at each start that has a state, as frameworks without a ledger do.
import { connectKit } from '@countersign/conformance';
import { createClient } from '@countersign/worker-sdk';

const { start, workerOptions, body, end } = await connectKit();
const calls = start.turns.flat();

async function ask() {
  const gated = calls.filter(({ toolName }) => toolName === 'refund');
  const asked = gated.map((call) => ({ ...call, needsApproval: true }));
  const { runId, agentId } = start;
  await createClient(workerOptions).requestToolCalls({ runId, agentId, calls: asked });
  return { event: 'paused', state: 'waiting' };
}

async function runTools() {
  const told = {};
  for (const { toolCallId, toolName, arguments: args } of calls) {
    told[toolCallId] = JSON.stringify(await body(toolName, toolCallId, args));
  }
  return { event: 'finished', told, final: 'done' };
}

await end(start.state === null ? ask : runTools);
