import { asUnreadable, isReadable, toLogEvent } from '@countersign/contracts';
import type { LogEventView, StoredEvent } from '@countersign/contracts';
import { csvLine, eventColumns } from '@countersign/exports';
import type { Column } from '@countersign/exports';
import type { Entry } from '@countersign/audit';
import { monthOf, viewsFile } from '../../bundle/layout.js';
import { columnsOf, couldRead, currentRules } from '../../bundle/rules.js';
import type { BundleRules } from '../../bundle/rules.js';
import { clearViewOf, csvOfView, viewOf } from '../../bundle/views.js';
import type { Damage } from '../log-source.js';
import type { BundleFiles, BundleLines } from './bundle-files.js';
import { differenceOf } from './other-masks.js';

/** Compares the views of a bundle with its events. Attack: honest events, and tables for people that say something else. */
export interface ComparedViews {
  readonly take: (index: number, entry: Entry, stored: StoredEvent | undefined) => readonly Damage[];
  readonly end: () => readonly Damage[];
  readonly unproven: () => UnprovenViews;
}

/** How many views could not be compared whole. */
export interface UnprovenViews {
  /** They have no content to be compared with. */
  hidden: number;
  /** The version that made the bundle could not read the event. */
  unreadable: number;
  /** They differ in masks alone. Some of them show what this version masks. */
  masks: number;
  shows: number;
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

/** @param rules those that the views were made with; a bundle that states none has those of this version. */
export function compareViews(files: BundleFiles, rules: BundleRules = currentRules()): ComparedViews {
  const months = new Map<string, Month>();
  const unproven: UnprovenViews = { hidden: 0, unreadable: 0, masks: 0, shows: 0 };
  const hasOtherMasks = rules.masks !== currentRules().masks;
  const columns = columnsOf(rules) ?? eventColumns;
  const csvHeader = csvLine(columns.map(({ name }) => name));
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
      const text = ndjson.isBroken ? undefined : ndjson.lines?.next()?.text;
      const event = { index, entry, stored };
      const read = text === undefined ? undefined : readView(text, event, { rules, hasOtherMasks });
      if (read === undefined) return broken(ndjson, index);
      if (read.unproven !== undefined) unproven[read.unproven] += 1;
      return isHeaded && !csv.isBroken && hasRow(csv, read.view, columns) ? [] : broken(csv, index);
    },
    end: () =>
      [...months.values()].flatMap(({ ndjson, csv }) => {
        // The table was not read on after the first view that is wrong.
        csv.isBroken ||= ndjson.isBroken;
        return [...endOf(ndjson), ...endOf(csv)];
      }),
    unproven: () => unproven,
  };
}

function openTable(files: BundleFiles, path: string): Table {
  return { path, lines: files.open(path), isBroken: false };
}

interface EventOf {
  readonly index: number;
  readonly entry: Entry;
  readonly stored: StoredEvent | undefined;
}

/** A view that is the one of its event, as far as that can be compared. */
interface ReadView {
  readonly view: LogEventView;
  readonly unproven?: keyof UnprovenViews;
}

interface MadeWith {
  readonly rules: BundleRules;
  readonly hasOtherMasks: boolean;
}

/** The view in a line; undefined where it is not the one of the event. */
function readView(text: string, { index, entry, stored }: EventOf, made: MadeWith): ReadView | undefined {
  const event = stored === undefined ? undefined : toLogEvent(stored);
  // The words about an event that cannot be read are those of the version that exported it.
  if (event === undefined || !isReadable(event)) {
    const view = parsed(text);
    return view !== undefined && isAt(view, index, entry) && mayHide(view) ? { view, unproven: 'hidden' } : undefined;
  }
  const masked = viewOf(event, index, entry.recordedAt);
  return text === JSON.stringify(masked) ? { view: masked } : readOtherView(text, { index, entry, stored }, made);
}

/** The view in a line that a version with other rules made. */
function readOtherView(text: string, { index, entry, stored }: EventOf, made: MadeWith): ReadView | undefined {
  const view = parsed(text);
  // Attack: the same member twice, of which programs differ in which one they show.
  if (stored === undefined || view === undefined || text !== JSON.stringify(view)) return undefined;
  const { recordedAt } = entry;
  if (!couldRead(made.rules, stored)) {
    const unreadable = viewOf(asUnreadable(stored, view.unreadable ?? ''), index, recordedAt);
    return text === JSON.stringify(unreadable) ? { view, unproven: 'unreadable' } : undefined;
  }
  if (!made.hasOtherMasks) return undefined;
  const event = toLogEvent(stored);
  const views = { masked: viewOf(event, index, recordedAt), clear: clearViewOf(event, index, recordedAt) };
  const unproven = differenceOf(view, views);
  return unproven === undefined ? undefined : { view, unproven };
}

/** Returns whether the table goes on with the row of a view. Nothing vouches for the members of the view of a commitment. */
function hasRow(table: Table, view: LogEventView, columns: readonly Column[]): boolean {
  try {
    return readsAs(table, csvOfView(view, columns));
  } catch {
    return false;
  }
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
