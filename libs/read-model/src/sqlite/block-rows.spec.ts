import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { eventFacets, facetsOf } from '@countersign/contracts';
import type { LogEvent } from '@countersign/contracts';
import type { EventBlock, WantedEvents } from '../event-blocks.js';
import { opened, recordPending, tight } from '../testing/opened.js';
import { scratchFolder } from '../testing/scratch-folder.js';
import { createTestLog, minute } from '../testing/test-log.js';
import type { TestLog } from '../testing/test-log.js';
import type { FileReadModel } from './sqlite-read-model.js';

const path = scratchFolder();
let log: TestLog;
let file: string;
let model: FileReadModel;

beforeEach(async () => {
  log = createTestLog(7);
  file = path('blocks.db');
  model = await opened(file, log, { bounds: tight });
  for (let count = 0; count < 450; count += 1) recordPending(log, `call_${String(count)}`);
  // Clocks of two appenders differ.
  log.events.forEach((event, index) => {
    if (index % 7 === 0) log.events[index] = { ...event, recordedAt: minute(event.position - 40) };
  });
  // An event that lost its headers.
  const last = log.events.at(-1) as LogEvent;
  log.events.push({
    ...{ eventId: 'lost', type: 'FromLater', stream: last.stream, revision: 99, recordedAt: last.recordedAt },
    ...{ position: last.position + 7, unreadable: 'a reason' },
    metadata: { tenant: null, callId: last.metadata.callId, runId: null },
  } as never);
});
afterEach(() => {
  model.close();
});

const want = (facets: WantedEvents['facets'], period: Partial<WantedEvents> = {}): WantedEvents => ({
  tenant: 'default',
  facets,
  ...period,
});

/** All blocks that a walk finds. */
function walked(wanted: WantedEvents, order: 'oldest' | 'newest'): EventBlock[] {
  const all: EventBlock[] = [];
  for (let at = order === 'oldest' ? 0 : Number.MAX_SAFE_INTEGER; ;) {
    const next = model.blocks.next(wanted, at, order);
    if (next.status === 'end') return all;
    if (next.status === 'passed') at = next.at;
    else {
      all.push(next);
      at = order === 'oldest' ? next.end : next.start;
    }
  }
}
const isIn = (blocks: readonly EventBlock[], { position }: LogEvent) =>
  blocks.some(({ start, end }) => position > start && position <= end);

describe('the blocks of the log', () => {
  it.each([false, true])(
    'have every event of each facet, from both ends; the file opened again: %s',
    async (isAgain) => {
      model.apply(log.events);
      if (isAgain) {
        model.close();
        model = await opened(file, log, { bounds: tight });
      }
      for (const facet of eventFacets) {
        const valuesOf = (event: LogEvent) => facetsOf(event)[facet];
        for (const value of new Set(log.events.flatMap(valuesOf).slice(0, 10))) {
          const having = log.events.filter((event) => valuesOf(event).includes(value));
          const [up, down] = (['oldest', 'newest'] as const).map((order) => walked(want({ [facet]: [value] }), order));
          expect(having.filter((event) => !isIn(up ?? [], event))).toEqual([]);
          expect(down?.toReversed().map(({ start }) => start)).toEqual(up?.map(({ start }) => start));
        }
      }
    },
  );

  it('without the value are passed over, so that a rare value is found in few of them', () => {
    model.apply(log.events);
    const all = walked(want({}), 'oldest').length;
    expect(all).toBeGreaterThan(3);
    const { callId } = log.events[700]?.metadata ?? {};
    expect(walked(want({ callId: [String(callId)] }), 'oldest').length).toBeLessThan(3);
    expect(walked({ tenant: 'other', facets: { type: ['ToolCallRequested'] } }, 'newest').length).toBeLessThan(2);
  });

  it('of a period have every event that was recorded in it', () => {
    model.apply(log.events);
    const times = [3, 200, 555, 800].map((index) => log.events[index]?.recordedAt ?? '');
    for (const since of times) {
      for (const until of [...times, undefined]) {
        const found = walked(want({}, { since, until }), 'oldest');
        const inPeriod = log.events.filter(
          ({ recordedAt }) => recordedAt >= since && (until === undefined || recordedAt < until),
        );
        expect(inPeriod.filter((event) => !isIn(found, event))).toEqual([]);
      }
    }
    expect(walked(want({}, { since: minute(100_000) }), 'oldest')).toEqual([]);
  });

  it('begin where an event is, and go on where the last one ends', () => {
    model.apply(log.events.slice(0, 300));
    model.apply(log.events.slice(300));
    const all = walked(want({}), 'oldest');
    const positions = [0, ...log.events.map(({ position }) => position)];
    for (const { start } of all) expect(positions).toContain(start);
    expect(all.slice(1).map(({ start }) => start)).toEqual(all.slice(0, -1).map(({ end }) => end));
    expect(all.at(-1)?.end).toBe(log.events.at(-1)?.position);
  });

  it('are found by the tool of the call, where an older version recorded none with the event', () => {
    const bare = log.events.map((event) => {
      const { tool: _none, ...metadata } = event.metadata as { readonly tool?: unknown };
      return { ...event, metadata } as LogEvent;
    });
    model.apply(bare);
    const { toolName } = model.toolCall('default', String(bare[0]?.metadata.callId))?.request ?? {};
    const found = walked(want({ toolName: [String(toolName)] as readonly string[] }), 'oldest');
    expect(bare.slice(0, -1).filter((event) => !isIn(found, event))).toEqual([]);
  });
});
