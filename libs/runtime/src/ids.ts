import { hash, randomBytes, randomUUID } from 'node:crypto';

/** Randomness as an input, for ids and salts. */
export interface Ids {
  /** A random UUID (version 4). */
  readonly uuid: () => string;
  readonly randomBytes: (count: number) => Uint8Array;
}

/** Ids from the system's cryptographic generator. */
export function createSystemIds(): Ids {
  let pool = Buffer.alloc(0);
  const draw = (count: number): Uint8Array => {
    // A call to the generator costs more than its bytes. Each byte is used once; a used-up pool is never overwritten,
    // because its readers may keep it.
    if (count > poolBytes) return randomBytes(count);
    if (count > pool.length) pool = randomBytes(poolBytes);
    const drawn = pool.subarray(0, count);
    pool = pool.subarray(count);
    return drawn;
  };
  return { uuid: () => randomUUID(), randomBytes: draw };
}

const poolBytes = 1024;

/** 16 bytes in the text form of a UUID of the given version (RFC 9562). */
export function formatUuid(bytes: Uint8Array, version: number): string {
  const copy = Buffer.from(bytes.subarray(0, 16));
  copy[6] = ((copy[6] ?? 0) & 0x0f) | (version << 4);
  copy[8] = ((copy[8] ?? 0) & 0x3f) | 0x80;
  const hex = copy.toString('hex');
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-${hex.slice(12, 16)}-${hex.slice(16, 20)}-${hex.slice(20)}`;
}

/** One buffer for all names, so that an id costs one hash and no copies. */
let scratch = Buffer.alloc(1024);
let [scratchNamespace, namespaceBytes] = ['', 0];

/**
 * The UUID (version 5) of a name in a namespace: the same name always has the same id, so that what is repeated is
 * recognised.
 * @param namespace a UUID.
 */
export function uuidV5(namespace: string, name: string): string {
  // A UTF-16 unit takes at most 3 bytes in UTF-8.
  const bytesMax = 16 + name.length * 3;
  if (bytesMax > scratch.length) [scratch, scratchNamespace] = [Buffer.alloc(bytesMax), ''];
  if (namespace !== scratchNamespace) {
    namespaceBytes = scratch.write(namespace.replaceAll('-', ''), 'hex');
    scratchNamespace = namespace;
  }
  const end = namespaceBytes + scratch.write(name, namespaceBytes);
  const hex = hash('sha1', scratch.subarray(0, end), 'hex');
  const variant = ((parseInt(hex.charAt(16), 16) & 0x3) | 0x8).toString(16);
  return `${hex.slice(0, 8)}-${hex.slice(8, 12)}-5${hex.slice(13, 16)}-${variant}${hex.slice(17, 20)}-${hex.slice(20, 32)}`;
}
