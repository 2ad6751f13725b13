import { asUnreadable, isCallId, toLogEvent, toolCallStream } from '@countersign/contracts';
import type { EventMetadata, LogEvent, NewEvent, StoredEvent, UnreadableEvent } from '@countersign/contracts';
import { EventTooLargeError } from '../event-store.js';
import type { ClientEvent, ClientNewEvent } from './client.js';

/** The default append limit of a server of version 24 (`--max-append-size`); later versions accept more. */
const appendBytesMax = 1024 * 1024;
const uuid = /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/;

/**
 * The events of one append in wire format.
 * @throws TypeError, RangeError: a bug in the caller, or more than a server accepts; nothing is sent.
 */
export function toClientEvents(events: readonly NewEvent[]): readonly ClientNewEvent[] {
  const encoded = events.map(toClientEvent);
  const bytes = encoded.reduce((sum, event) => sum + event.bytes, 0);
  if (bytes > appendBytesMax) {
    throw new EventTooLargeError(
      `what would be recorded has at most at most ${appendBytesMax} bytes, and this has ${bytes}`,
    );
  }
  return encoded.map(({ event }) => event);
}

/**
 * An event in wire format. It is serialised here, before the client gets it: a value that is not JSON would make the
 * client's promise hang and kill the process.
 * @throws TypeError, RangeError: a bug in the caller.
 */
function toClientEvent({ eventId, type, data, metadata }: NewEvent): { event: ClientNewEvent; bytes: number } {
  if (!uuid.test(eventId)) throw new RangeError(`an event's id is a UUID in small letters, not "${eventId}"`);
  const [text, metadataText] = [JSON.stringify(data), JSON.stringify(metadata)];
  const encodedMetadata = new TextEncoder().encode(metadataText);
  const event = { id: eventId, type, data: JSON.parse(text) as Record<string, unknown>, metadata: encodedMetadata };
  // The server counts two bytes per character of the type.
  return { event, bytes: Buffer.byteLength(text) + encodedMetadata.length + 2 * type.length };
}

/** The event if it is one of ours: other applications may use the same store, with similar names. */
export function fromClientEvent(event: ClientEvent, prefixes: readonly string[]): LogEvent | undefined {
  if (!prefixes.some((prefix) => event.streamId.startsWith(prefix))) return undefined;
  if (isOurs(event.metadata)) return toLogEvent(toStored(event));
  return isCallStream(event.streamId) ? foreignEvent(event) : undefined;
}

/** An event in one of our streams that Countersign did not write: the state of the stream is not known after it. */
export function foreignEvent(event: ClientEvent): UnreadableEvent {
  const why = event.type === tombstoneType ? 'the stream was deleted' : 'it was not written by Countersign';
  return asUnreadable(toStored(event), `${why}; ${restore}`);
}

/** In the place of revisions that a stream has lost: it was truncated, or has a limit on its age or count. */
export function missingEvent(stream: string, revision: number, next: ClientEvent): UnreadableEvent {
  const why = `revision ${String(revision)} of the stream is missing, and revision ${String(next.revision)} follows; ${restore}`;
  return asUnreadable({ ...toStored(next), type: '', stream, revision }, why);
}

/** In the place of a stream that was deleted. */
export function deletedStream(stream: string): UnreadableEvent {
  const place = { eventId: '', type: '', stream, revision: 0, position: 0, recordedAt: new Date(0).toISOString() };
  return asUnreadable({ ...place, metadata: {} }, `the stream was deleted; ${restore}`);
}

const restore = 'restore the store from a backup';
/** The last event of a stream that was deleted for good. Its revision is the largest 64-bit number. */
const tombstoneType = '$streamDeleted';

/** An event as the server has it. */
export function toStored({
  id,
  type,
  data,
  metadata,
  streamId,
  revision,
  created,
  ...event
}: ClientEvent): StoredEvent {
  return {
    eventId: id,
    type,
    // The clients return a text or bytes for data that are no JSON.
    data: isObject(data) ? data : undefined,
    metadata,
    stream: streamId,
    revision: type === tombstoneType ? Number.MAX_SAFE_INTEGER : toNumber(revision),
    position: positionOf(event),
    recordedAt: created.toISOString(),
  };
}

function isCallStream(stream: string): boolean {
  const prefix = toolCallStream('');
  return stream.startsWith(prefix) && isCallId(stream.slice(prefix.length));
}

/** The event's place in the whole log. */
export function positionOf(event: Pick<ClientEvent, 'position'>): number {
  if (event.position === undefined)
    throw new Error('the server does not tell positions: it needs version 22.6 or later');
  return toNumber(event.position.commit);
}

/** A 64-bit number of the server. @throws RangeError beyond 2^53, where JavaScript would change it. */
export function toNumber(value: bigint): number {
  const number = Number(value);
  if (!Number.isSafeInteger(number)) throw new RangeError(`${value} is too large a position`);
  return number;
}

function isOurs(metadata: unknown): metadata is EventMetadata {
  return (
    isObject(metadata) &&
    typeof metadata['tenant'] === 'string' &&
    typeof metadata['commandId'] === 'string' &&
    typeof metadata['schemaVersion'] === 'number'
  );
}

function isObject(value: unknown): value is Record<string, unknown> {
  return typeof value === 'object' && value !== null && !Array.isArray(value) && !ArrayBuffer.isView(value);
}
