// node survivor.ts URL CONTROL-PORT: appends, reads and subscribes through every fault of the test server. A promise
// that never settles, or an unhandled rejection, makes its exit code non-zero.
import { setTimeout as delay } from 'node:timers/promises';
import { noStream } from '@countersign/event-store';
import { connectOf, openEventStoreDb } from '@countersign/event-store/eventstoredb';
import { sampleEvent, sampleEvents, sampleStream } from '@countersign/event-store/testing';
import { systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import type { Faults } from '../../eventstoredb-server/faults.ts';

const [, , url = '', control = ''] = process.argv;
const faults: readonly Faults[] = [
  ...(['hang', 'write-then-hang', 'cut', 'write-then-cut', 'half-close', 'not-leader', 'timeout', 'busy'] as const),
  ...(['not-ready', 'access-denied', 'stream-deleted', 'internal', 'cancelled', 'forgetful'] as const),
].map((append) => ({ append }));
const others: readonly Faults[] = [
  { read: 'hang' },
  { read: 'hang-midway' },
  { read: 'unavailable' },
  { read: 'stream-deleted' },
  { features: 'hang' },
  { features: 'internal' },
  { subscriptions: 'refused' },
  { clockAheadMs: 15_000 },
  { maxAppendBytes: 10 },
  { latencyMs: 50 },
];
const order = (method: string, path: string, body?: unknown): Promise<unknown> =>
  fetch(`http://127.0.0.1:${control}${path}`, {
    method,
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });

const timeouts = { appendMs: 100, readMs: 100 };
const store = openEventStoreDb({
  url,
  connect: await connectOf(url),
  log: createSilentLog(),
  clock: systemClock,
  timeouts,
});
const outcomes: Record<string, string> = {};
store.subscribe(0, { onEvents: () => undefined, onError: () => undefined });
for (const fault of [...faults, ...others]) {
  await order('PUT', '/faults', fault);
  const events = [sampleEvent('x'.repeat(100_000)), ...sampleEvents(2)];
  const appended = await store.append(sampleStream(), noStream, events).then(({ status }) => status, String);
  await store.head().catch(() => undefined);
  await order('POST', '/drop-subscriptions');
  outcomes[JSON.stringify(fault)] = appended;
}
await order('PUT', '/faults', {});
const odd = { ...sampleEvent(), data: { reason: 1n } } as unknown as ReturnType<typeof sampleEvent>;
await store.append(sampleStream(), noStream, [odd]).catch(() => undefined);
// Late responses and late errors arrive now, if there are any.
await delay(500);
const last = [sampleStream(), sampleEvents(1)] as const;
let status = 'unknown';
for (let tries = 0; status !== 'committed' && tries < 200; tries += 1) {
  status = await store.append(last[0], noStream, last[1]).then((result) => result.status, String);
  await delay(50);
}
await store.close();
// The roles do the same: the native bridge of Kurrent's client keeps a read that the server never finishes.
if (url.startsWith('kurrentdb')) setTimeout(() => process.exit(), 500).unref();
process.stdout.write(`${JSON.stringify({ outcomes, status })}\n`);
