import { isReadable, toLogEvent } from '@countersign/contracts';
import type { LogEventView, StoredEvent } from '@countersign/contracts';
import { csvHeader } from '@countersign/exports';
import type { Entry } from '@countersign/audit';
import { monthOf, viewsFile } from '../../bundle/layout.js';
import { csvOfView, viewOf } from '../../bundle/views.js';
import type { Damage } from '../log-source.js';
import type { BundleFiles, BundleLines } from './bundle-files.js';

/** Compares the views of a bundle with its events. Attack: honest events, and tables for people that say something else. */
export interface ComparedViews {
  readonly take: (index: number, entry: Entry, stored: StoredEvent | undefined) => readonly Damage[];
  readonly end: () => readonly Damage[];
  /** How many views have no content to be compared with. */
  readonly unproven: () => number;
}

interface Month {
  readonly ndjson: Table;
  readonly csv: Table;
  /** True if the first line of the table has the names of the columns. */
  readonly isHeaded: boolean;
}

interface Table {
  readonly path: string;
  /** Undefined: the bundle has no such file. */
  readonly lines: BundleLines | undefined;
  /** After the first difference nothing in the file has a place. */
  isBroken: boolean;
}

export function compareViews(files: BundleFiles): ComparedViews {
  const months = new Map<string, Month>();
  let unproven = 0;
  const monthFor = (recordedAt: string): Month => {
    const name = monthOf(recordedAt);
    const known = months.get(name);
    if (known !== undefined) return known;
    const [ndjson, csv] = [openTable(files, viewsFile(name, 'ndjson')), openTable(files, viewsFile(name, 'csv'))];
    const month = { ndjson, csv, isHeaded: readsAs(csv, csvHeader) };
    months.set(name, month);
    return month;
  };
  return {
    take: (index, entry, stored) => {
      const { ndjson, csv, isHeaded } = monthFor(entry.recordedAt);
      const made = madeFrom(index, entry, stored);
      if (made === undefined) unproven += 1;
      const view = ndjson.isBroken ? undefined : viewIn(ndjson, index, entry, made);
      if (view === undefined) return broken(ndjson, index);
      return isHeaded && !csv.isBroken && hasRow(csv, view) ? [] : broken(csv, index);
    },
    end: () => [...months.values()].flatMap(({ ndjson, csv }) => [...endOf(ndjson), ...endOf(csv)]),
    unproven: () => unproven,
  };
}

function openTable(files: BundleFiles, path: string): Table {
  return { path, lines: files.open(path), isBroken: false };
}

/** The view that the event has. The words about one that cannot be read are those of the version that exported it. */
function madeFrom(index: number, { recordedAt }: Entry, stored: StoredEvent | undefined): LogEventView | undefined {
  if (stored === undefined) return undefined;
  const event = toLogEvent(stored);
  return isReadable(event) ? viewOf(event, index, recordedAt) : undefined;
}

/** Returns whether the table goes on with the row of a view. Nothing vouches for the members of the view of a commitment. */
function hasRow(table: Table, view: LogEventView): boolean {
  try {
    return readsAs(table, csvOfView(view));
  } catch {
    return false;
  }
}

/** The view of the next line, where it is the one of the event. A commitment has only its place to be compared with. */
function viewIn(table: Table, index: number, entry: Entry, made: LogEventView | undefined): LogEventView | undefined {
  const text = table.lines?.next()?.text;
  if (text === undefined) return undefined;
  if (made !== undefined) return text === JSON.stringify(made) ? made : undefined;
  const view = parsed(text);
  return view !== undefined && isAt(view, index, entry) && mayHide(view) ? view : undefined;
}

/**
 * Returns whether such an event can have had hidden values, so that its content may be left out. Attack: the content of a denial
 * is left out, and its view says that the person approved. Of responses only an edit and an answer have values.
 */
function mayHide({ type, data }: LogEventView): boolean {
  if (type !== 'ApprovalResponded' || data === null) return true;
  const { decision } = data as { readonly decision?: { readonly type?: unknown } | null };
  return decision?.type === 'edit' || decision?.type === 'answer';
}

function isAt(view: LogEventView, index: number, entry: Entry): boolean {
  const isOfEvent = view.eventId === entry.eventId && view.type === entry.type && view.position === index;
  return isOfEvent && view.revision === entry.revision && view.recordedAt === entry.recordedAt;
}

function parsed(text: string): LogEventView | undefined {
  try {
    const value: unknown = JSON.parse(text);
    return typeof value === 'object' && value !== null ? (value as LogEventView) : undefined;
  } catch {
    return undefined;
  }
}

/** Returns whether the next lines of a table are this text. A row has line ends where its values have. */
function readsAs({ lines }: Table, row: string): boolean {
  return row
    .split('\n')
    .slice(0, -1)
    .every((part) => lines?.next()?.text === part);
}

function broken(table: Table, index: number): readonly Damage[] {
  if (table.isBroken) return [];
  table.isBroken = true;
  return [{ check: 'files', index, detail: `${table.path} is missing, or does not say what the event says` }];
}

function endOf({ path, lines, isBroken }: Table): readonly Damage[] {
  if (lines === undefined) return [];
  const isLonger = !isBroken && lines.next() !== undefined;
  const longer: readonly Damage[] = isLonger
    ? [{ check: 'files', index: 0, detail: `${path} has more than the events` }]
    : [];
  return [...longer, ...lines.end()];
}
