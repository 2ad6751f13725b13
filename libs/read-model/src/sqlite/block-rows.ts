import type { StatementSync } from 'node:sqlite';
import { facetsOf, eventFacets, toolOf } from '@countersign/contracts';
import type { LogEvent } from '@countersign/contracts';
import type { CallRow } from '../call-row.js';
import { addTerm, emptySummary, mayHaveTerm } from '../event-blocks.js';
import type { BlockReads, EventBlock, NextBlock, Summary, Term, WantedEvents } from '../event-blocks.js';
import type { Columns } from './stored-row.js';

/** A summary covers this many events: a search that finds one event reads so many. */
const eventsPerBlock = 256;
/** So many blocks are looked at before others get their turn. */
const looksMax = 2000;

interface Block extends EventBlock {
  readonly events: number;
  readonly earliest: string;
  readonly latest: string;
  readonly summary: Summary;
}

/** The blocks of the log: of the file, and those that are not in it yet. */
export interface BlockRows extends BlockReads {
  /** `callOf` returns the call of an event that names no tool itself. */
  readonly fold: (event: LogEvent, callOf: (callId: string) => CallRow | undefined) => void;
  /** The block that is not full yet, as a text. */
  readonly counts: () => { readonly block: string };
  readonly write: () => void;
  readonly flushed: () => void;
}

/**
 * @param position the last folded event.
 * @param stored the block that was not full then; empty: none.
 */
export function createBlockRows(prepare: (sql: string) => StatementSync, position: number, stored: string): BlockRows {
  let open = stored === '' ? emptyBlock(position) : parseBlock(stored);
  let unflushed: Block[] = [];
  return {
    fold: (event, callOf) => {
      addEvent(open.summary, event, callOf);
      const { recordedAt, position: end } = event;
      open = {
        ...{ start: open.start, end, events: open.events + 1, summary: open.summary },
        earliest: open.events > 0 && open.earliest < recordedAt ? open.earliest : recordedAt,
        latest: open.latest > recordedAt ? open.latest : recordedAt,
      };
      if (open.events < eventsPerBlock) return;
      unflushed.push(open);
      open = emptyBlock(end);
    },
    counts: () => ({ block: JSON.stringify({ ...open, summary: textOf(open.summary) }) }),
    write: () => {
      const insert = prepare('INSERT INTO blocks VALUES (?, ?, ?, ?, ?)');
      for (const { start, end, earliest, latest, summary } of unflushed)
        insert.run(end, start, earliest, latest, textOf(summary));
    },
    flushed: () => {
      unflushed = [];
    },
    next: (wanted, from, order) => {
      const isWanted = createTest(wanted);
      const recent = open.events === 0 ? unflushed : [...unflushed, open];
      return order === 'oldest' ? nextUp(prepare, recent, from, isWanted) : nextDown(prepare, recent, from, isWanted);
    },
  };
}

type IsWanted = (block: Block) => boolean;

function nextUp(
  prepare: (sql: string) => StatementSync,
  recent: readonly Block[],
  from: number,
  isWanted: IsWanted,
): NextBlock {
  const rows = prepare('SELECT * FROM blocks WHERE seq > ? ORDER BY seq LIMIT ?').iterate(from, looksMax);
  let [looks, at] = [0, from];
  for (const row of rows) {
    const block = fromRow(row);
    if (isWanted(block)) return found(block);
    looks += 1;
    at = block.end;
  }
  if (looks === looksMax) return { status: 'passed', at };
  const block = recent.find((one) => one.end > at && isWanted(one));
  return block === undefined ? { status: 'end' } : found(block);
}

function nextDown(
  prepare: (sql: string) => StatementSync,
  recent: readonly Block[],
  from: number,
  isWanted: IsWanted,
): NextBlock {
  const inMemory = recent.findLast((one) => one.start < from && isWanted(one));
  if (inMemory !== undefined) return found(inMemory);
  const rows = prepare('SELECT * FROM blocks WHERE start < ? ORDER BY start DESC LIMIT ?').iterate(from, looksMax);
  let [looks, at] = [0, from];
  for (const row of rows) {
    const block = fromRow(row);
    if (isWanted(block)) return found(block);
    looks += 1;
    at = block.start;
  }
  return looks === looksMax ? { status: 'passed', at } : { status: 'end' };
}

function found({ start, end }: EventBlock): NextBlock {
  return { status: 'found', start, end };
}

function createTest({ tenant, facets, since, until }: WantedEvents): IsWanted {
  const groups = eventFacets.flatMap((facet) => {
    const values = facets[facet];
    return values === undefined ? [] : [values.map((value) => ({ facet, value }))];
  });
  // An event that lost its tenant may be of any.
  const all: readonly (readonly Term[])[] = [
    [
      { facet: 'tenant', value: tenant },
      { facet: 'tenant', value: '' },
    ],
    ...groups,
  ];
  return ({ earliest, latest, summary }) =>
    (since === undefined || latest >= since) &&
    (until === undefined || earliest < until) &&
    all.every((terms) => terms.some((term) => mayHaveTerm(summary, term)));
}

function addEvent(summary: Summary, event: LogEvent, callOf: (callId: string) => CallRow | undefined): void {
  const { tenant, callId } = event.metadata;
  const named = toolOf(event);
  const facets = facetsOf(event, named ?? (callId === null ? undefined : callOf(callId)?.request));
  addTerm(summary, { facet: 'tenant', value: tenant ?? '' });
  for (const facet of eventFacets) for (const value of facets[facet]) addTerm(summary, { facet, value });
}

function emptyBlock(start: number): Block {
  return { start, end: start, events: 0, earliest: '', latest: '', summary: emptySummary() };
}

function textOf(summary: Summary): string {
  return Buffer.from(summary).toString('base64');
}

function summaryOf(text: unknown): Summary {
  return new Uint8Array(Buffer.from(String(text), 'base64'));
}

function fromRow({ seq, start, earliest, latest, summary }: Columns): Block {
  return {
    ...{ start: Number(start), end: Number(seq), events: eventsPerBlock },
    ...{ earliest: String(earliest), latest: String(latest), summary: summaryOf(summary) },
  };
}

function parseBlock(text: string): Block {
  const { summary, ...block } = JSON.parse(text) as Omit<Block, 'summary'> & { readonly summary: string };
  return { ...block, summary: summaryOf(summary) };
}
