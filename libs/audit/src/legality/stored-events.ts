import { isReadable, toLogEvent, upcast } from '@countersign/contracts';
import type { RecordedEvent, StoredEvent } from '@countersign/contracts';
import { firstRecordedAt } from '../entry.js';
import type { JudgedEvent } from './judged-event.js';
import { isStoredTime } from './times.js';

/** A stored event as the judge reads it, or why it cannot be read. */
export type ReadEvent = JudgedEvent | { readonly unreadable: string };

/** Reads a stored event: it must be well-formed by the schema of its type, and say of no value in clear that it is hidden. */
export function readStored(stored: StoredEvent): ReadEvent {
  const event = toLogEvent(stored);
  if (!isReadable(event)) return { unreadable: event.unreadable };
  const lie = lieAboutTime(stored) ?? lieAboutValues(event);
  if (lie !== undefined) return { unreadable: lie };
  const { eventId, stream, revision, type, data, metadata } = upcast(event);
  const recordedAt = firstRecordedAt(stored);
  return { eventId, stream, revision, type, recordedAt, data, metadata, writtenAs: event.metadata.schemaVersion };
}

/**
 * Attacks: a time that is none, which no period has in it; and words in the note of a move, the one member that no hash covers.
 */
function lieAboutTime({ recordedAt, metadata }: StoredEvent): string | undefined {
  if (!isStoredTime(recordedAt)) return 'the time of its record is none';
  const { moved = {} } = metadata as { readonly moved?: object };
  const other = Object.keys(moved).find((name) => name !== 'recordedAt');
  return other === undefined ? undefined : `the note of its move has the member "${other}", which no hash covers`;
}

/** Attack: a value that is there in clear is said to be sealed or erased, so that no digest over it is computed. */
function lieAboutValues({ data, metadata }: RecordedEvent): string | undefined {
  const { erased, missing, sealed } = metadata;
  if (erased !== undefined || missing !== undefined)
    return 'it says of values that they are erased, which is never recorded';
  const pointers = sealed?.pointers ?? [];
  const clear = pointers.find((pointer) => valueAt(data, pointer) !== sealedMark);
  if (clear !== undefined) return `it says of ${clear} that it is sealed, and it is not`;
  const odd = pointers.find((pointer) => !hiddenPlaces.some((place) => `${pointer}/`.startsWith(`${place}/`)));
  return odd === undefined ? undefined : `${odd} is sealed, and no value there is ever hidden`;
}

/** Where events have values that may be hidden. Attack: the name of a person is sealed, so that nobody can compare it. */
const hiddenPlaces = [
  ...['/arguments', '/salt', '/metadata', '/output', '/error', '/match/salt'],
  ...['/decision/arguments', '/decision/salt', '/decision/output'],
] as const;

/** The text that the log has in the place of a sealed value, a stored format. */
const sealedMark = '[sealed]';

/** The value at a JSON pointer (RFC 6901); undefined: there is none. */
function valueAt(value: unknown, pointer: string): unknown {
  const names = pointer.split('/').slice(1);
  return names.reduce((found: unknown, escaped) => {
    const name = escaped.replaceAll('~1', '/').replaceAll('~0', '~');
    if (typeof found !== 'object' || found === null || !Object.hasOwn(found, name)) return undefined;
    return (found as Readonly<Record<string, unknown>>)[name];
  }, value);
}
