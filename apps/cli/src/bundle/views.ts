import type { CanonicalContent } from '@countersign/audit';
import { isReadable, isRecordedInClear, maskSealed, toLogEvent, toLogEventView } from '@countersign/contracts';
import type { EventAudience, LogEvent, LogEventView, StoredEvent } from '@countersign/contracts';
import { csvLine } from '@countersign/exports';
import type { Column } from '@countersign/exports';

/** Returns whether a bundle shows the stored content of an event: it can be read, and has no value in clear that views hide. */
export function isShown(event: LogEvent): boolean {
  return isReadable(event) && !isRecordedInClear(event);
}

/**
 * The masked view of a stored event in a bundle. It needs no keys, so a verifier makes the same one from the same event. Its
 * `position` is the event's index in the log of its tenant.
 */
export function viewOf(event: LogEvent, index: number, recordedAt: string): LogEventView {
  return viewFor('masked', event, { index, recordedAt });
}

/** The same with all values that the log has in clear. Sealed values are masked. */
export function clearViewOf(event: LogEvent, index: number, recordedAt: string): LogEventView {
  return viewFor('clear', event, { index, recordedAt });
}

function viewFor(audience: EventAudience, event: LogEvent, { index, recordedAt }: BundlePlace): LogEventView {
  const placed = { ...event, position: index, recordedAt } as LogEvent;
  return toLogEventView(isReadable(placed) ? maskSealed(placed) : placed, audience);
}

/** The place of an event in a bundle. */
export interface BundlePlace {
  readonly index: number;
  readonly recordedAt: string;
}

/**
 * The event as a reader of the bundle reads it, with its members in the order of RFC 8785, and the JSON text of the view that the
 * reader makes of it.
 */
export function viewLineOf(
  stored: StoredEvent,
  content: CanonicalContent,
  { index, recordedAt }: BundlePlace,
): { readonly event: LogEvent; readonly line: string } {
  const plain = plainLine(stored, content, { index, recordedAt });
  if (plain !== undefined) return plain;
  const event = toLogEvent({
    ...stored,
    data: undefined,
    ...(JSON.parse(content.body) as Pick<StoredEvent, 'metadata'>),
  });
  return { event, line: JSON.stringify(viewOf(event, index, recordedAt)) };
}

/** JavaScript puts such a member of an object before all others. */
const integerName = /"(?:0|[1-9][0-9]*)":/;

/** The same where the view has the data as they are, as most have. Their text is there already. */
function plainLine(stored: StoredEvent, { data }: CanonicalContent, { index, recordedAt }: BundlePlace) {
  if (data === undefined || isMoved(stored) || integerName.test(data)) return undefined;
  const event = toLogEvent(stored);
  if (!isReadable(event)) return undefined;
  const view = viewOf(event, index, recordedAt);
  if (view.data !== event.data || view.erased !== undefined || view.missing !== undefined) return undefined;
  const others = JSON.stringify({ ...view, data: undefined });
  return { event, line: `${others.slice(0, -1)},"data":${data}}` };
}

/** No hash covers the note of a move, and a bundle does not have it. */
function isMoved({ metadata }: StoredEvent): boolean {
  return typeof metadata === 'object' && metadata !== null && 'moved' in metadata;
}

/** The row of a view in the table of a month. */
export function csvOfView(view: LogEventView, columns: readonly Column[]): string {
  return csvLine(columns.map(({ cellOf }) => cellOf(view)));
}
