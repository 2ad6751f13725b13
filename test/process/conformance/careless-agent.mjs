// Asks, pauses, and then runs its tool at each start that has a state, as frameworks without a ledger do.
import { createInterface } from 'node:readline';
import { createClient } from '@countersign/worker-sdk';

const lines = createInterface({ input: process.stdin })[Symbol.asyncIterator]();
const read = async () => JSON.parse((await lines.next()).value);
const print = (event) => process.stdout.write(`${JSON.stringify(event)}\n`);

const start = await read();
const calls = start.turns.flat();
if (start.state === null) {
  const client = createClient({ url: start.url, token: start.agentToken });
  const gated = calls.filter(({ toolName }) => toolName === 'refund');
  const asked = gated.map((call) => ({ ...call, needsApproval: true }));
  await client.requestToolCalls({ runId: start.runId, agentId: start.agentId, calls: asked });
  print({ event: 'paused', state: 'waiting' });
  process.exit(0);
}
const told = {};
for (const { toolCallId, toolName, arguments: args } of calls) {
  print({ event: 'tool', toolName, toolCallId, arguments: args });
  told[toolCallId] = JSON.stringify((await read()).output);
}
print({ event: 'finished', told, final: 'done' });
process.exit(0);
