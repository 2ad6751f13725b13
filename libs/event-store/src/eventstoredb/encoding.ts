import type { EventMetadata, NewEvent, RecordedEvent } from '@countersign/contracts';
import { EventStoreDamagedError, EventTooLargeError } from '../event-store.js';
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
export function fromClientEvent(event: ClientEvent, prefixes: readonly string[]): RecordedEvent | undefined {
  if (!prefixes.some((prefix) => event.streamId.startsWith(prefix)) || !isOurs(event.metadata)) return undefined;
  const { id, type, data, metadata, streamId, revision, created } = event;
  const position = positionOf(event);
  if (!isObject(data)) {
    throw new EventStoreDamagedError('the data of an event are not JSON', { stream: streamId, position });
  }
  return {
    eventId: id,
    type,
    data,
    metadata,
    stream: streamId,
    revision: toNumber(revision),
    position,
    recordedAt: created.toISOString(),
  } as unknown as RecordedEvent;
}

/** The event's place in the whole log. */
export function positionOf(event: ClientEvent): number {
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
