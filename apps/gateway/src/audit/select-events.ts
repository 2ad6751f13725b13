import { setImmediate } from 'node:timers/promises';
import type { Actor } from '@countersign/commands';
import { weighStored } from '@countersign/contracts';
import type { AuditEventsQuery, LogEvent } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';
import type { EventBlock, ReadModel, WantedEvents } from '@countersign/read-model';
import type { GatewayPorts } from '../ports.js';
import { soundPart, wholePart } from './sound-part.js';
import type { ReadPart, SoundPart } from './sound-part.js';
import { searchOf } from './wanted-events.js';
import type { Search } from './wanted-events.js';

/** One page of the log. */
export interface EventsPage {
  readonly events: readonly LogEvent[];
  /** Where the next page begins: `after` it, or `before` it from the newest; null: everything was looked through. */
  readonly next: number | null;
  /** The position of the log that the page shows. */
  readonly position: number;
  /** Where the page could have an event that is damaged or missing. */
  readonly missing: readonly number[];
}

const limitDefault = 1000;
/** A page ends early when it is as large as this, or when so many events were read for it: no search keeps others waiting. */
const [bytesMax, readsMax] = [4 * 1024 * 1024, 25_000];
const pageSize = 256;
/** A page ends early when it names so many damaged events. */
const missingMax = 200;

/**
 * Selects events of the tenant. It reads the log only where the summaries of the read model say that something may be.
 * @param store the log, or the log as it is stored.
 * @param isWhole whether a damaged event is an error. Otherwise the page has the sound ones, and names the others.
 * @throws EventStoreDamagedError also when too much is damaged for one page, or nobody knows where.
 */
export async function selectEvents(
  ports: Pick<GatewayPorts, 'readModel' | 'commands'>,
  store: Pick<EventStore, 'readAll'>,
  actor: Actor,
  query: AuditEventsQuery,
  isWhole: boolean,
): Promise<EventsPage> {
  const search = searchOf(ports, actor, query);
  const page = createPage(search, query);
  const read = isWhole ? wholePart(store) : soundPart(store);
  const position = ports.readModel.checkpoint();
  const isUp = query.order !== 'desc';
  for (const part of partsOf(ports.readModel, search.wanted, query, position)) {
    const pieces = part === null ? [] : isUp ? piecesOf(read, part) : endOfBlock(read, part, page.wants);
    for await (const piece of pieces) {
      const last = page.take(piece);
      if (last !== undefined || page.isSpent()) return { ...page.found(), next: last ?? piece.next, position };
    }
    // The log may be long: others get their turn between its parts.
    await setImmediate();
  }
  return { ...page.found(), next: null, position };
}

/** What is read of a block: the events after `after`. */
interface Part extends EventBlock {
  readonly after: number;
}

/**
 * The parts of the log that may have wanted events, up to `position`, in the order of the search; null where blocks were passed
 * over. A block that is not full grows while others write, so that it may be found again: what was read of it is not read twice.
 */
function* partsOf(
  { blocks }: Pick<ReadModel, 'blocks'>,
  wanted: WantedEvents,
  { order, after = 0, before = Number.MAX_SAFE_INTEGER }: AuditEventsQuery,
  position: number,
): Generator<Part | null, void> {
  const walk = order === 'desc' ? down(after, before) : up(after, Math.min(before, position));
  for (let at = walk.from; walk.hasMore(at);) {
    const next = blocks.next(wanted, at, walk.order);
    if (next.status === 'end') return;
    if (next.status === 'passed') yield null;
    else {
      const { start, end } = next;
      if (walk.isBeyond(next)) return;
      yield { start, end: Math.min(end, position, before - 1), after: walk.firstAfter(at, start) };
    }
    at = next.status === 'passed' ? next.at : walk.end(next);
  }
}

/** How a search goes through the blocks. */
interface Walk {
  readonly order: 'oldest' | 'newest';
  readonly from: number;
  readonly hasMore: (at: number) => boolean;
  readonly isBeyond: (block: EventBlock) => boolean;
  readonly firstAfter: (at: number, start: number) => number;
  readonly end: (block: EventBlock) => number;
}

function up(after: number, before: number): Walk {
  return {
    ...{ order: 'oldest', from: after },
    hasMore: (at) => at < before,
    isBeyond: ({ start }) => start >= before,
    firstAfter: (at, start) => Math.max(at, start),
    end: ({ end }) => end,
  };
}

function down(after: number, before: number): Walk {
  return {
    ...{ order: 'newest', from: before },
    hasMore: (at) => at > after,
    isBeyond: ({ end }) => end <= after,
    firstAfter: (_at, start) => start,
    end: ({ start }) => start,
  };
}

/** Events of a block, in the order of the search, and where the search goes on after them. */
interface Piece extends Omit<SoundPart, 'end'> {
  /** How many events were read for it. */
  readonly reads: number;
  readonly next: number;
}

/**
 * The events of a block, piece by piece: a store returns fewer at once where they are large, and a page may be full before the end of
 * the block. Its end was folded, so they are recorded.
 */
async function* piecesOf(read: ReadPart, { start, end, after }: Part): AsyncGenerator<Piece, void> {
  const isIn = (position: number): boolean => position > after && position <= end;
  for (let at = start; at < end;) {
    const part = await read(at, pageSize);
    if (part.end === at) return;
    at = part.end;
    const events = part.events.filter(({ position }) => isIn(position));
    yield { events, missing: part.missing.filter(isIn), reads: events.length, next: Math.min(at, end) };
  }
}

/**
 * The wanted events of a block, the newest one first: a store is read forwards alone. Those before the last ones that fill a page
 * are not kept: the next page reads them again.
 */
async function* endOfBlock(
  read: ReadPart,
  part: Part,
  wants: (event: LogEvent) => boolean,
): AsyncGenerator<Piece, void> {
  const [events, missing]: [LogEvent[], number[]] = [[], []];
  let [bytes, reads] = [0, 0];
  for await (const piece of piecesOf(read, part)) {
    missing.push(...piece.missing);
    reads += piece.events.length;
    for (const event of piece.events.filter(wants)) {
      events.push(event);
      bytes += weighStored(event);
      for (let [oldest] = events; oldest && bytes - weighStored(oldest) >= bytesMax; [oldest] = events) {
        bytes -= weighStored(oldest);
        events.shift();
      }
    }
  }
  // The next part begins with the event at `start`.
  yield { events: events.toReversed(), missing, reads, next: part.start + 1 };
}

interface Page {
  readonly found: () => Pick<EventsPage, 'events' | 'missing'>;
  /** Takes the wanted ones of a block, in order. Returns the position of the last one when the page is full. */
  readonly take: (piece: Piece) => number | undefined;
  readonly wants: (event: LogEvent) => boolean;
  /** Returns whether enough was read for one page. */
  readonly isSpent: () => boolean;
}

function createPage(
  search: Search,
  { limit = limitDefault, after = 0, before = Number.MAX_SAFE_INTEGER, order }: AuditEventsQuery,
): Page {
  const [events, missing]: [LogEvent[], number[]] = [[], []];
  let [bytes, reads] = [0, 0];
  const wants = (event: LogEvent): boolean =>
    event.position > after && event.position < before && search.isWanted(event);
  const lastOf = (read: readonly LogEvent[]): number | undefined => {
    for (const event of read) {
      if (!wants(event)) continue;
      events.push(event);
      bytes += weighStored(event);
      if (events.length >= limit || bytes >= bytesMax) return event.position;
    }
    return undefined;
  };
  return {
    found: () => ({ events, missing }),
    wants,
    take: ({ events: read, missing: lost, reads: count }) => {
      const last = lastOf(read);
      reads += count;
      // Those behind the end of the page are the next one's.
      const isBehind = (position: number): boolean =>
        last !== undefined && (order === 'desc' ? position < last : position > last);
      missing.push(...lost.filter((at) => at > after && at < before && !isBehind(at)));
      return last;
    },
    isSpent: () => reads >= readsMax || missing.length >= missingMax,
  };
}
