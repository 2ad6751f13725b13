import { isReadable, toLogEvent, upcast } from '@countersign/contracts';
import type { StoredEvent } from '@countersign/contracts';
import type { JudgedEvent } from './judged-event.js';

/** A stored event as the judge reads it, or why it cannot be read. */
export type ReadEvent = JudgedEvent | { readonly unreadable: string };

/** Reads a stored event: it must be well-formed by the schema of its type. */
export function readStored(stored: StoredEvent): ReadEvent {
  const event = toLogEvent(stored);
  if (!isReadable(event)) return { unreadable: event.unreadable };
  const { eventId, stream, revision, type, data, metadata } = upcast(event);
  return { eventId, stream, revision, type, data, metadata, writtenAs: event.metadata.schemaVersion };
}
