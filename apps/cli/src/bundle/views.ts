import { isReadable, isRecordedInClear, maskSealed, toLogEventView } from '@countersign/contracts';
import type { LogEvent, LogEventView } from '@countersign/contracts';
import { cellsOf, csvLine } from '@countersign/exports';

/** Returns whether a bundle shows the stored content of an event: it can be read, and has no value in clear that views hide. */
export function isShown(event: LogEvent): boolean {
  return isReadable(event) && !isRecordedInClear(event);
}

/**
 * The masked view of a stored event in a bundle. It needs no keys, so a verifier makes the same one from the same event. Its
 * `position` is the event's index in the log of its tenant.
 */
export function viewOf(event: LogEvent, index: number, recordedAt: string): LogEventView {
  const placed = { ...event, position: index, recordedAt } as LogEvent;
  return toLogEventView(isReadable(placed) ? maskSealed(placed) : placed, 'masked');
}

/** The row of a view in the table of a month. */
export function csvOfView(view: LogEventView): string {
  return csvLine(cellsOf(view));
}
