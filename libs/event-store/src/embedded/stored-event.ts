import { hash } from 'node:crypto';
import { asUnreadable, toLogEvent } from '@countersign/contracts';
import type { LogEvent, UnreadableEvent } from '@countersign/contracts';
import { EventStoreDamagedError } from '../event-store.js';

/** A row of the log as SQLite gives it; the chain only where it was asked for. */
export type StoredRow = readonly [
  position: number,
  stream: string,
  revision: number,
  eventId: string,
  type: string,
  recordedAt: string,
  metadata: string,
  data: string,
  leaf: Uint8Array,
  ...chain: Uint8Array[],
];

/** The chain before the first event. */
export const genesisChain: Uint8Array = new Uint8Array(32);

/** Computes the leaf of stored fields. Not reentrant: it reuses one buffer. */
export type LeafHash = (
  position: number,
  stream: string,
  revision: number,
  texts: readonly [eventId: string, type: string, recordedAt: string, metadata: string, data: string],
) => Uint8Array;

/**
 * The leaf of an event, a stored format: SHA-256 over
 *
 *     position   8 bytes, big-endian
 *     revision   8 bytes, big-endian
 *     then stream, eventId, type, recordedAt, metadata, data, each as
 *       its length in bytes   4 bytes, big-endian
 *       its UTF-8 bytes
 *
 * `metadata` and `data` are the stored JSON texts, byte for byte. Every field is either of fixed length or prefixed by
 * its length, so no two events have the same encoding.
 */
export function createLeafHash(): LeafHash {
  let scratch = Buffer.allocUnsafe(8192);
  const put = (text: string, at: number): number => {
    const length = scratch.write(text, at + 4);
    scratch.writeUInt32BE(length, at);
    return at + 4 + length;
  };
  return (position, stream, revision, texts) => {
    // A UTF-16 unit takes at most 3 bytes in UTF-8.
    let bytesMax = 20 + stream.length * 3;
    for (const text of texts) bytesMax += 4 + text.length * 3;
    if (bytesMax > scratch.length) scratch = Buffer.allocUnsafe(bytesMax);
    putInteger(scratch, position, 0);
    putInteger(scratch, revision, 8);
    let at = put(stream, 16);
    for (const text of texts) at = put(text, at);
    return sha256(scratch.subarray(0, at));
  };
}

function putInteger(into: Buffer, value: number, at: number): void {
  into.writeUInt32BE(Math.floor(value / 2 ** 32), at);
  into.writeUInt32BE(value >>> 0, at + 4);
}

/**
 * The chain up to an event, a stored format: SHA-256 over the 32 bytes of the previous event's chain (zeros before the
 * first event) and the 32 bytes of this event's leaf. An event that is altered, removed, inserted or moved breaks it.
 */
export function chainOf(previous: Uint8Array, leaf: Uint8Array): Uint8Array {
  chained.set(previous, 0);
  chained.set(leaf, 32);
  return sha256(chained);
}

const chained = Buffer.alloc(64);

/** Through hex, which needs no allocation outside of the heap: a digest as a `Buffer` costs twice as much. */
function sha256(bytes: Uint8Array): Uint8Array {
  return Buffer.from(hash('sha256', bytes, 'hex'), 'hex');
}

/** Returns whether two digests are equal. */
export function isSameDigest(one: Uint8Array, other: Uint8Array): boolean {
  return Buffer.compare(one, other) === 0;
}

/** Checks a row against its leaf. @throws EventStoreDamagedError when the stored bytes are not those that were recorded. */
export function checkLeaf(leafHash: LeafHash, row: StoredRow): void {
  const [position, stream, revision] = row;
  if (isAsRecorded(leafHash, row)) return;
  throw new EventStoreDamagedError(
    `the event at position ${position} (stream "${stream}", revision ${revision}) is not what was recorded: restore the store from a backup`,
    { position, stream },
  );
}

function isAsRecorded(leafHash: LeafHash, row: StoredRow): boolean {
  const [position, stream, revision, eventId, type, recordedAt, metadata, data, leaf] = row;
  try {
    return isSameDigest(leafHash(position, stream, revision, [eventId, type, recordedAt, metadata, data]), leaf);
  } catch {
    // A damaged file can hold a value of another type than its column's.
    return false;
  }
}

/** The event of a checked row. Its bytes are what was recorded, and a later version may have recorded them. */
export function toStoredLogEvent(row: StoredRow): LogEvent {
  const [position, stream, revision, eventId, type, recordedAt, metadata, data] = row;
  return toLogEvent({
    eventId,
    type,
    data: parsed(data),
    metadata: parsed(metadata),
    stream,
    revision,
    position,
    recordedAt,
  });
}

type PlaceInLog = Pick<UnreadableEvent, 'stream' | 'revision' | 'position'>;

/** The event of a row; one that cannot be read where the row is not what was recorded. Then nothing of it counts but its place. */
export function soundEvent(leafHash: LeafHash, row: StoredRow): LogEvent {
  if (isAsRecorded(leafHash, row)) return toStoredLogEvent(row);
  const [position, name, revision] = row;
  // A damaged row may name a stream that there is not.
  const stream = (name as string | null) ?? '';
  return damagedEvent({ stream, revision, position }, 'it is not what was recorded');
}

/** An event that is missing. */
export function lostEvent(place: PlaceInLog): UnreadableEvent {
  return damagedEvent(place, 'it is missing');
}

function damagedEvent(place: PlaceInLog, why: string): UnreadableEvent {
  const unknown = { eventId: '', type: '', recordedAt: new Date(0).toISOString(), metadata: {} };
  return asUnreadable({ ...unknown, ...place }, `the log is damaged at position ${place.position}: ${why}`);
}

/** Undefined for a text that is no JSON. */
function parsed(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}
