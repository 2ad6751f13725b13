import { readFileSync } from 'node:fs';
import { closedLoop, percentile } from './closed-loop.ts';
import { openConnection } from './http-client.ts';
import { usageOf } from './process-usage.ts';
import type { startProduct } from './subjects.ts';

type Product = Awaited<ReturnType<typeof startProduct>>;

/** Requests calls that need approval, in steps of 100, until `total` are pending. */
export async function fillPending(product: Product, from: number, total: number): Promise<void> {
  const inFlight = 8;
  const connections = await Promise.all(Array.from({ length: inFlight }, () => openConnection(product.port)));
  const authorization = `authorization: Bearer ${product.tokens['agent'] ?? ''}\r\n`;
  let next = from;
  await Promise.all(
    connections.map(async (connection) => {
      while (next < total) {
        const first = next;
        next += 100;
        const calls = Array.from({ length: Math.min(100, total - first) }, (_, index) => ({
          toolCallId: `pending-${String(first + index)}`,
          toolName: 'delete_file',
          arguments: { path: `/srv/data/${String(first + index)}.txt`, recursive: false },
          needsApproval: true,
          reason: 'outside the workspace',
          expiresInMs: 86_400_000,
        }));
        const body = JSON.stringify({ runId: `pending-${String(first)}`, calls });
        const answer = await connection.send('POST', '/v1/tool-calls', authorization, body);
        if (answer.status !== 201) throw new Error(`filling up answered ${String(answer.status)}: ${answer.body}`);
      }
      connection.close();
    }),
  );
}

/** The time of a page of 100 pending approvals, when pages are read one after another through the whole list. */
export async function listLatency(
  product: Product,
  seconds: number,
): Promise<{ p50Ms: number; p99Ms: number; rssMb: number }> {
  const connection = await openConnection(product.port);
  const authorization = `authorization: Bearer ${product.tokens['me'] ?? ''}\r\n`;
  let cursor = '';
  const measured = await closedLoop(1, seconds, async () => {
    const answer = await connection.send('GET', `/v1/approvals?state=pending&limit=100${cursor}`, authorization, '');
    if (answer.status !== 200) throw new Error(`listing answered ${String(answer.status)}: ${answer.body}`);
    const next = /"nextCursor":"([^"]+)"/.exec(answer.body)?.[1];
    cursor = next === undefined ? '' : `&cursor=${encodeURIComponent(next)}`;
  });
  connection.close();
  return {
    p50Ms: percentile(measured.latenciesMs, 50),
    p99Ms: percentile(measured.latenciesMs, 99),
    rssMb: usageOf(product.pid).rssBytes / 2 ** 20,
  };
}

/** The system calls and the CPU of an idle server in one second. */
export async function idleCost(
  product: Product,
  seconds: number,
): Promise<{ cpuMsPerSecond: number; callsPerSecond: number }> {
  const before = usageOf(product.pid);
  const switchesBefore = voluntarySwitches(product.pid);
  await new Promise((resolve) => setTimeout(resolve, seconds * 1000));
  const after = usageOf(product.pid);
  return {
    cpuMsPerSecond: (after.cpuMs - before.cpuMs) / seconds,
    callsPerSecond: (voluntarySwitches(product.pid) - switchesBefore) / seconds,
  };
}

function voluntarySwitches(pid: number): number {
  try {
    return Number(/^voluntary_ctxt_switches:\s+(\d+)/m.exec(readFileSync(`/proc/${String(pid)}/status`, 'utf8'))?.[1]);
  } catch {
    return NaN;
  }
}
