// The pause is a value: the process may end while people think, and another one continues.
import { existsSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createWorker, gateTool, type RunState, type StepOutcome } from '@countersign/worker-sdk';
import { z } from 'zod';

const refund = gateTool({
  name: 'refund_order',
  inputSchema: z.strictObject({ orderId: z.string(), cents: z.int().positive() }),
  needsApproval: ({ cents }) => cents > 10_000,
  execute: ({ orderId, cents }, { idempotencyKey }) => ({ orderId, cents, bookedAs: idempotencyKey }),
});

const worker = createWorker({
  url: 'http://127.0.0.1:7400',
  token: process.env['COUNTERSIGN_TOKEN'] ?? '',
  resolverToken: process.env['COUNTERSIGN_RESOLVER_TOKEN'] ?? '',
  agentId: 'agent',
  tools: [refund],
});

const file = 'paused-run.json';
const toolCalls = [{ toolCallId: 'call_7', toolName: 'refund_order', arguments: { orderId: 'A-1', cents: 25_000 } }];

async function begin(): Promise<StepOutcome> {
  const outcome = await worker.step({ runId: 'run-43', toolCalls });
  writeFileSync(file, JSON.stringify(outcome.state));
  return outcome;
}

async function goOn(): Promise<StepOutcome> {
  const state = JSON.parse(readFileSync(file, 'utf8')) as RunState;
  return worker.wait(state, { timeoutMs: 60_000 });
}

const outcome = existsSync(file) ? await goOn() : await begin();
if (outcome.stopReason === null) {
  console.log(outcome.results);
  rmSync(file, { force: true });
} else {
  console.log(`paused (${outcome.stopReason}); run me again after a person has decided`);
}
await worker.close();
