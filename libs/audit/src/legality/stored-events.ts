import { isReadable, toLogEvent, upcast } from '@countersign/contracts';
import type { RecordedEvent, StoredEvent } from '@countersign/contracts';
import type { JudgedEvent } from './judged-event.js';

/** A stored event as the judge reads it, or why it cannot be read. */
export type ReadEvent = JudgedEvent | { readonly unreadable: string };

/** Reads a stored event: it must be well-formed by the schema of its type, and say of no value in clear that it is hidden. */
export function readStored(stored: StoredEvent): ReadEvent {
  const event = toLogEvent(stored);
  if (!isReadable(event)) return { unreadable: event.unreadable };
  const lie = lieAboutValues(event);
  if (lie !== undefined) return { unreadable: lie };
  const { eventId, stream, revision, type, data, metadata } = upcast(event);
  return { eventId, stream, revision, type, data, metadata, writtenAs: event.metadata.schemaVersion };
}

/** Attack: a value that is there in clear is said to be sealed or erased, so that no digest over it is computed. */
function lieAboutValues({ data, metadata }: RecordedEvent): string | undefined {
  const { erased, missing, sealed } = metadata;
  if (erased !== undefined || missing !== undefined)
    return 'it says of values that they are erased, which is never recorded';
  const clear = sealed?.pointers.find((pointer) => valueAt(data, pointer) !== sealedMark);
  return clear === undefined ? undefined : `it says of ${clear} that it is sealed, and it is not`;
}

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
