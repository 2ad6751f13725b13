import { bodyOf } from '@countersign/audit';
import { isReadable, isRecordedInClear, toLogEventView, weighStored } from '@countersign/contracts';
import type { AuditEventsQuery, LogEvent, LogEventView } from '@countersign/contracts';
import { csvOf, linesOf, ocsfOf, parquetOf } from '@countersign/exports';
import type { OcsfIntegrity } from '@countersign/exports';

/** A page of the log as a file. */
export interface ExportedFile {
  readonly contentType: string;
  /** The ending of a name for it; undefined: it is read, not kept. */
  readonly ending?: string;
  readonly pieces: AsyncGenerator<string | Uint8Array, void>;
}

const contentTypes = {
  ndjson: 'application/x-ndjson',
  ocsf: 'application/x-ndjson',
  csv: 'text/csv; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
} as const;

/** So many events, or so many bytes of them, are turned into text before others get their turn: a slow reader holds one such text. */
const [eventsPerPiece, bytesPerPiece] = [100, 256 * 1024];

/** The events of a page in the format and with the values that were asked for. */
export function exportedFile(
  events: readonly LogEvent[],
  { format = 'ndjson', values = 'masked' }: Pick<AuditEventsQuery, 'format' | 'values'>,
  integrity?: (eventId: string) => OcsfIntegrity | undefined,
): ExportedFile {
  const contentType = contentTypes[format];
  if (values === 'stored') return { contentType, pieces: linesOf(inPages(events, toStoredForm)) };
  const views = inPages(events, (event): LogEventView => toLogEventView(event, values));
  switch (format) {
    case 'ndjson':
      return { contentType, pieces: linesOf(views) };
    case 'ocsf':
      return { contentType, pieces: ocsfOf(views, integrity) };
    case 'csv':
      return { contentType, ending: 'csv', pieces: csvOf(views) };
    case 'parquet':
      return { contentType, ending: 'parquet', pieces: parquetOf(views) };
  }
}

async function* inPages<Row>(
  events: readonly LogEvent[],
  toRow: (event: LogEvent) => Row,
): AsyncGenerator<readonly Row[], void> {
  for (let from = 0; from < events.length;) {
    let [end, bytes] = [from, 0];
    while (end < events.length && end - from < eventsPerPiece && bytes < bytesPerPiece) {
      bytes += weighStored(events[end] as LogEvent);
      end += 1;
    }
    yield events.slice(from, end).map(toRow);
    from = end;
    await new Promise(setImmediate);
  }
}

/**
 * An event as the tree over the log has it. Where a value that is hidden was recorded in clear, the event is a commitment: the
 * digest of its content instead of the content.
 */
function toStoredForm(event: LogEvent): object {
  const { eventId, stream, revision, type, recordedAt } = event;
  const place = { eventId, stream, revision, type, recordedAt };
  const { metadata, data } = isReadable(event) ? event : (event.stored ?? { metadata: undefined, data: undefined });
  if (isReadable(event) && !isRecordedInClear(event)) return { ...place, metadata, data };
  return { v: 1, ...place, body: bodyOf({ metadata, data }) };
}
