import { parseStored, readAnchors, readEntry } from '@countersign/audit';
import type { LogEventView, StoredEvent } from '@countersign/contracts';
import type { SourceEvent } from '../audit/log-source.js';
import { textLines } from '../audit/tile-reader.js';
import { usageError } from '../cli-error.js';
import { eachBodyLine } from '../connection/body-lines.js';
import type { LedgerClient } from '../connection/ledger-client.js';
import type { BundlePlan } from './progress-file.js';
import { allStampsOfServer, stampsOfServer } from './server-stamps.js';
import type { ExportedStamp } from './timestamp-files.js';

/** The log of a server, as an auditor reads it in its stored form. */
export interface ServerLog {
  readonly plan: BundlePlan;
  /** The events after a position. An export can be continued after an event that is the last of its page. */
  readonly eventsAfter: (position: number) => AsyncIterable<SourceEvent>;
  readonly timestamps: () => AsyncIterable<ExportedStamp>;
}

/**
 * Pages end at multiples of this number of events, also after one that the server ended earlier. The state of an export is saved
 * at multiples of it.
 */
const pageEvents = 2_560;

/** What is read of a server's log. */
export interface ServerLogOptions {
  readonly tenant?: string;
  readonly values: 'stored' | 'clear';
  /** Up to the newest checkpoint, also without the quorum of witnesses. Default: false. */
  readonly pending?: boolean;
}

/** Reads what a bundle of the token's tenant will hold: the events of the newest checkpoint. @throws CliError */
export async function readServerLog(
  client: LedgerClient,
  signal: AbortSignal,
  { tenant: named, values, pending }: ServerLogOptions,
): Promise<ServerLog> {
  if (values === 'clear') {
    throw usageError('A server does not send the stored form in clear.', 'Export the data folder with --values clear.');
  }
  const { tenant } = await client.get<{ readonly tenant: string }>('/v1/me');
  if (named !== undefined && named !== tenant) {
    throw usageError(`The token is of the tenant "${tenant}".`, 'Leave --tenant out, or give another token.');
  }
  const { status, text } = await client.look(`/v1/log/checkpoint${pending === true ? '?pending=true' : ''}`);
  const notes = status === 200 ? [text] : [];
  const changed = await client.look('/v1/log/key-changes');
  const keyChanges = changed.status === 200 ? textLines(Buffer.from(changed.text)) : [];
  const size = notes.flatMap((note) => readAnchors(note) ?? [])[0]?.size ?? null;
  const head = await headOf(client, signal);
  const [last] = await stampsOfServer(client, { order: 'newest', limit: '1' });
  const lastStamp = last && { epoch: last.epoch, size: last.size };
  return {
    plan: { tenant, values, size, head, notes, keyChanges, lastStamp },
    eventsAfter: (position) => eventsAfter(client, signal, position),
    timestamps: () => allStampsOfServer(client),
  };
}

/** The position of the log that the server shows. */
async function headOf(client: LedgerClient, signal: AbortSignal): Promise<number> {
  const { headers, body } = await client.open('/v1/audit/events?limit=1', { signal });
  await body?.cancel();
  return positionIn(headers);
}

async function* eventsAfter(client: LedgerClient, signal: AbortSignal, start: number): AsyncIterable<SourceEvent> {
  let after: number | undefined = start;
  for (let count = 0; after !== undefined;) {
    const limit = String(pageEvents - (count % pageEvents));
    const query = new URLSearchParams({ values: 'stored', after: String(after), limit });
    const { lines, next, position }: Page = await readPage(client, signal, query);
    const end = next ?? position;
    const viewOf = viewsIn(client, signal, { after, before: end });
    for await (const { line, isLast } of withLast(lines)) {
      const event = eventOf(line);
      const view = await viewOf(event);
      yield { ...event, ...(view && { view }), done: isLast ? end : after };
      count += 1;
    }
    after = next;
  }
}

/** An event in its stored form, or the entry of one whose values were recorded in clear. */
function eventOf(line: string): Omit<SourceEvent, 'done'> {
  const value = parseStored(line);
  const entry = readEntry(value);
  if (entry !== undefined) return { stored: undefined, entry, damage: [] };
  const { eventId, stream, revision, type, recordedAt, metadata, data } = (value ?? {}) as Partial<StoredEvent>;
  const isPlaced = [eventId, stream, type, recordedAt].every((text) => typeof text === 'string');
  if (!isPlaced || !Number.isSafeInteger(revision) || metadata === undefined) {
    return { stored: undefined, damage: [{ check: 'read', detail: 'the server sent a line that is no event' }] };
  }
  const place = { position: 0, eventId, stream, revision, type, recordedAt } as Omit<StoredEvent, 'metadata' | 'data'>;
  return { stored: { ...place, metadata, data }, damage: [] };
}

interface Line {
  readonly line: string;
  readonly isLast: boolean;
}

/** The lines of a page, one after the other: a page of large events is never held whole. */
async function* withLast(lines: AsyncIterable<string>): AsyncGenerator<Line, void> {
  let line: string | undefined;
  for await (const next of lines) {
    if (line !== undefined) yield { line, isLast: false };
    line = next;
  }
  if (line !== undefined) yield { line, isLast: true };
}

interface Part {
  readonly after: number;
  readonly before: number;
}

/** Finds the masked view of an event of a page whose entry alone is sent. All of them are read for the first one. */
function viewsIn(client: LedgerClient, signal: AbortSignal, part: Part) {
  let views: ReadonlyMap<string, LogEventView> | undefined;
  return async ({ entry }: Pick<SourceEvent, 'entry'>): Promise<LogEventView | undefined> => {
    if (entry === undefined) return undefined;
    views ??= await readViews(client, signal, part);
    return views.get(entry.eventId);
  };
}

/** The masked views of the events of a page, by their ids: of some, the content is not sent in the stored form. */
async function readViews(client: LedgerClient, signal: AbortSignal, { after, before }: Part) {
  const views = new Map<string, LogEventView>();
  for (let from: number | undefined = after; from !== undefined;) {
    const query = new URLSearchParams({ after: String(from), before: String(before + 1), limit: '1000' });
    const { lines, next }: Page = await readPage(client, signal, query);
    for await (const line of lines) {
      const view = JSON.parse(line) as LogEventView;
      views.set(view.eventId, view);
    }
    from = next;
  }
  return views;
}

interface Page {
  readonly lines: AsyncIterable<string>;
  /** The position after which the next page begins; undefined: there is none. */
  readonly next: number | undefined;
  /** The end of the log that was looked through. */
  readonly position: number;
}

async function readPage(client: LedgerClient, signal: AbortSignal, query: URLSearchParams): Promise<Page> {
  const response = await client.open(`/v1/audit/events?${query.toString()}`, { signal });
  const { headers } = response;
  const [, link] = /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '') ?? [];
  const next = link === undefined ? null : new URLSearchParams(link.split('?')[1]).get('after');
  return {
    lines: eachBodyLine(response),
    next: next === null ? undefined : Number(next),
    position: positionIn(headers),
  };
}

function positionIn(headers: Headers): number {
  return Number(headers.get('countersign-position') ?? 0);
}
