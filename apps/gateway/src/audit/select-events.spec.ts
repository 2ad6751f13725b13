import type { Actor } from '@countersign/commands';
import type { AuditEventsQuery, LogEvent } from '@countersign/contracts';
import { expect, it } from '@jest/globals';
import { exportedFile } from './exported.js';
import { selectEvents } from './select-events.js';

const [blockEvents, atOnce] = [256, 8];
const large = 'x'.repeat(1024 * 1024);
const events = Array.from({ length: 2 * blockEvents }, (_, index) => ({
  ...{ eventId: `e-${String(index)}`, stream: `s-${String(index)}`, revision: 0, position: index + 1 },
  ...{ type: 'ToolCallRequested', recordedAt: '2026-11-02T00:00:00.000Z' },
  ...{
    data: { arguments: { large }, sensitive: [], salt: null },
    metadata: { tenant: 'acme', callId: null, runId: null },
  },
})) as unknown as readonly LogEvent[];

/** A log of events of 1 MiB, in blocks of 256, of which the store returns eight at once. */
function logOf(form: (event: LogEvent) => LogEvent = (event) => event) {
  let read = 0;
  const store = {
    readAll: (after: number, limit: number) => {
      const page = events.slice(after, after + Math.min(limit, atOnce)).map(form);
      read += page.length;
      return Promise.resolve(page);
    },
  };
  const next = (_wanted: unknown, from: number, order: string) => {
    const block = order === 'oldest' ? Math.floor(from / blockEvents) : Math.ceil(from / blockEvents) - 1;
    const start = Math.min(block, 1) * blockEvents;
    return { status: 'found', start, end: start + blockEvents };
  };
  const readModel = { checkpoint: () => events.length, blocks: { next } };
  const select = (query: AuditEventsQuery) =>
    selectEvents(
      { readModel, commands: {} } as unknown as Parameters<typeof selectEvents>[0],
      store,
      { tenant: 'acme' } as Actor,
      query,
      true,
    );
  return { select, read: () => read };
}

it('a page of large events ends before the end of its block, and no more is read for it than it has', async () => {
  const { select, read } = logOf();
  const page = await select({});
  expect(page.events.length).toBeLessThanOrEqual(5);
  expect(page.next).toBe(page.events.length);
  expect(read()).toBeLessThanOrEqual(page.events.length + atOnce);
});

it('a page of the stored form is as small where the values are sealed in boxes', async () => {
  const sealed = { key: 'k', pointers: ['/arguments/large'], box: large };
  const { select } = logOf(
    (event) => ({ ...event, data: { sensitive: [] }, metadata: { ...event.metadata, sealed } }) as unknown as LogEvent,
  );
  expect((await select({ values: 'stored' })).events.length).toBeLessThanOrEqual(5);
});

it.each(['asc', 'desc'] as const)(
  'the text of a page comes in pieces of few large events, in the order %s',
  async (order) => {
    const { events: found } = await logOf().select({ order });
    const pieces: (string | Uint8Array)[] = [];
    for await (const piece of exportedFile(found, {}).pieces) pieces.push(piece);
    expect(pieces).toHaveLength(found.length);
  },
);

it.each(['asc', 'desc'] as const)('the pages have each event once, in the order %s', async (order) => {
  const { select } = logOf();
  const seen: number[] = [];
  for (let next: number | null | undefined; next !== null;) {
    const at = next === undefined ? {} : order === 'asc' ? { after: next } : { before: next };
    const page = await select({ ...at, ...(order === 'desc' && { order }) });
    seen.push(...page.events.map(({ position }) => position));
    next = page.next;
  }
  const all = events.map(({ position }) => position);
  expect(seen).toEqual(order === 'asc' ? all : all.toReversed());
});
