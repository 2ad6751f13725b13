import { parseStored, readAnchors, readEntry } from '@countersign/audit';
import type { LogEventView, StoredEvent } from '@countersign/contracts';
import type { SourceEvent } from '../audit/log-source.js';
import { textLines } from '../audit/tile-reader.js';
import { usageError } from '../cli-error.js';
import { bodyLines } from '../connection/body-lines.js';
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
  const { position: head } = await readPage(client, signal, new URLSearchParams({ limit: '1' }));
  const [last] = await stampsOfServer(client, { order: 'newest', limit: '1' });
  const lastStamp = last && { epoch: last.epoch, size: last.size };
  return {
    plan: { tenant, values, size, head, notes, keyChanges, lastStamp },
    eventsAfter: (position) => eventsAfter(client, signal, position),
    timestamps: () => allStampsOfServer(client),
  };
}

async function* eventsAfter(client: LedgerClient, signal: AbortSignal, start: number): AsyncIterable<SourceEvent> {
  let after: number | undefined = start;
  for (let count = 0; after !== undefined;) {
    const limit = String(pageEvents - (count % pageEvents));
    const query = new URLSearchParams({ values: 'stored', after: String(after), limit });
    const { lines, next, position }: Page = await readPage(client, signal, query);
    const events = lines.map(eventOf);
    const wanted = new Set(events.flatMap(({ stored, entry }) => (stored || !entry ? [] : [entry.eventId])));
    const views = wanted.size === 0 ? undefined : await readViews(client, signal, { after, before: next, wanted });
    for (const [index, event] of events.entries()) {
      const view = event.entry && views?.get(event.entry.eventId);
      const done = index === events.length - 1 ? (next ?? position) : after;
      yield { ...event, ...(view && { view }), done };
    }
    count += events.length;
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

interface Wanted {
  readonly after: number;
  readonly before: number | undefined;
  /** The ids of the events whose views are needed. */
  readonly wanted: ReadonlySet<string>;
}

/** The masked views of the events of a page whose content is not sent in the stored form. */
async function readViews(client: LedgerClient, signal: AbortSignal, { after, before, wanted }: Wanted) {
  const views = new Map<string, LogEventView>();
  for (let from: number | undefined = after; from !== undefined && views.size < wanted.size;) {
    const query = new URLSearchParams({ after: String(from), limit: '1000' });
    if (before !== undefined) query.set('before', String(before + 1));
    const { lines, next }: Page = await readPage(client, signal, query);
    for (const line of lines) {
      const view = JSON.parse(line) as LogEventView;
      if (wanted.has(view.eventId)) views.set(view.eventId, view);
    }
    from = next;
  }
  return views;
}

interface Page {
  readonly lines: readonly string[];
  /** The position after which the next page begins; undefined: there is none. */
  readonly next: number | undefined;
  /** The end of the log that was looked through. */
  readonly position: number;
}

async function readPage(client: LedgerClient, signal: AbortSignal, query: URLSearchParams): Promise<Page> {
  const response = await client.open(`/v1/audit/events?${query.toString()}`, { signal });
  const { headers } = response;
  const lines = await bodyLines(response);
  const [, link] = /^<([^>]+)>; rel="next"$/.exec(headers.get('link') ?? '') ?? [];
  const next = link === undefined ? null : new URLSearchParams(link.split('?')[1]).get('after');
  return {
    lines,
    next: next === null ? undefined : Number(next),
    position: Number(headers.get('countersign-position') ?? 0),
  };
}
