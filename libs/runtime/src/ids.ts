import { hash, randomBytes, randomUUID } from 'node:crypto';

/** Chance as an input: where ids and salts come from. */
export interface Ids {
  /** A random UUID (version 4). */
  readonly uuid: () => string;
  readonly randomBytes: (count: number) => Uint8Array;
}

/** Ids from the system's cryptographic generator. */
export function createSystemIds(): Ids {
  return { uuid: () => randomUUID(), randomBytes: (count) => randomBytes(count) };
}

/** 16 bytes in the text form of a UUID of the given version (RFC 9562). */
export function formatUuid(bytes: Uint8Array, version: number): string {
  const copy = Buffer.from(bytes.subarray(0, 16));
  copy[6] = ((copy[6] ?? 0) & 0x0f) | (version << 4);
  copy[8] = ((copy[8] ?? 0) & 0x3f) | 0x80;
  const hex = copy.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/**
 * The UUID (version 5) of a name in a namespace: the same name always has the same id, so that what is repeated is
 * recognised.
 * @param namespace a UUID.
 */
export function uuidV5(namespace: string, name: string): string {
  const prefix = Buffer.from(namespace.replaceAll('-', ''), 'hex');
  const digest = hash('sha1', Buffer.concat([prefix, Buffer.from(name)]), 'buffer');
  return formatUuid(digest, 5);
}
