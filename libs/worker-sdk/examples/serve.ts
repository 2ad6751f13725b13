// A process that does nothing but run what was approved: for agents whose own process may be gone by then.
import { createWorker, gateTool, type Middleware } from '@countersign/worker-sdk';
import { z } from 'zod';

const refund = gateTool({
  name: 'refund_order',
  inputSchema: z.strictObject({ orderId: z.string(), cents: z.int().positive() }),
  needsApproval: ({ cents }) => ({ required: cents > 10_000, reason: 'more than 100 €' }),
  idempotent: true,
  toolTimeoutMs: 30_000,
  execute: async ({ orderId, cents }, { ask, idempotencyKey }) => {
    const account = await ask({ question: `To which account does the refund of ${orderId} go?` });
    return { orderId, cents, account, bookedAs: idempotencyKey };
  },
});

const timed: Middleware = async ({ toolName }, next) => {
  const startedAt = performance.now();
  try {
    return await next();
  } finally {
    console.log(toolName, Math.round(performance.now() - startedAt), 'ms');
  }
};

const worker = createWorker({
  url: 'http://127.0.0.1:7400',
  token: process.env['COUNTERSIGN_TOKEN'] ?? '',
  resolverToken: process.env['COUNTERSIGN_RESOLVER_TOKEN'] ?? '',
  agentId: 'agent',
  tools: [refund],
  toolsElsewhere: ['send_report'],
  middleware: [timed],
  hooks: {
    onDecided: ({ toolName, approval }) => console.log(toolName, approval?.state),
    onResult: ({ toolName, status }) => console.log(toolName, status),
  },
});

const stop = new AbortController();
process.once('SIGTERM', () => stop.abort());

await worker.serve({ signal: stop.signal });
await worker.close();
