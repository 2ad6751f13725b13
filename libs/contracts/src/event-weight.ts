import type { RecordedEvent } from './events.js';
import type { JsonValue } from './json.js';
import { isReadable } from './log-event.js';
import type { LogEvent } from './log-event.js';

/** The minimum that any event adds to a row or a folded stream. */
const bytesPerEvent = 512;
/** The members that the requester chose. Only they can be large. */
const chosen = [
  'arguments',
  'toolSchema',
  'schemaNotes',
  'labels',
  'sensitive',
  'description',
  'toolDescription',
  'metadata',
  'reason',
  'decision',
  'output',
  'error',
] as const;

type JsonMembers = Readonly<Record<string, JsonValue>>;

/** About how long a JSON value is when written: the strings in it, and a little for the rest. */
function roughLength(value: JsonValue | undefined): number {
  if (typeof value === 'string') return value.length;
  if (typeof value !== 'object' || value === null) return 8;
  let length = 8;
  // Without a pair for each member: each event is weighed, by the read model and by the folded streams.
  for (const key of Object.keys(value)) length += key.length + roughLength((value as JsonMembers)[key]);
  return length;
}

/** Roughly how many bytes of JSON an event has, for the limit of a page. In its stored form its hidden values are in a box. */
export function weighStored(event: LogEvent): number {
  const box = event.metadata.sealed?.box.length ?? 0;
  if (isReadable(event)) return weigh(event) + box;
  return bytesPerEvent + box + roughLength((event.stored?.data ?? null) as JsonValue);
}

/** Roughly how many bytes of JSON an event adds to a row, for memory limits. */
export function weigh({ data }: Pick<RecordedEvent, 'data'>): number {
  const members = data as Readonly<Record<string, JsonValue | undefined>>;
  let bytes = bytesPerEvent;
  for (const name of chosen) {
    const value = members[name];
    if (value !== undefined) bytes += roughLength(value);
  }
  return bytes;
}
