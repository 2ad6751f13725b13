import { createHmac, hkdfSync } from 'node:crypto';
import { requestsOwner as owner } from './subject-keys.js';
import type { SubjectKey, SubjectKeys } from './subject-keys.js';

/**
 * A keyed hash of a request: the id of the key, a colon, and hex. The content cannot be guessed without the key, and the
 * hash tells nothing once the key is destroyed.
 */
export type RequestHash = (bytes: Uint8Array) => string;

/** The key of the hashes of requests, which every erasure destroys. */
export interface RequestsKey {
  /** With the key of now. */
  readonly hash: () => RequestHash;
  /** Destroys the key. */
  readonly renew: () => Promise<void>;
}

/** Opens the key, or makes it. */
export async function openRequestsKey(keys: SubjectKeys): Promise<RequestsKey> {
  let hash = createRequestHash(await keys.current(...owner));
  return {
    hash: () => hash,
    renew: async () => {
      const old = keys.retire(...owner);
      hash = createRequestHash(await keys.current(...owner));
      keys.beginErasing(old);
      keys.destroy(old);
    },
  };
}

/** Hashes under one key. */
export function createRequestHash({ id, key }: SubjectKey): RequestHash {
  const hashing = Buffer.from(hkdfSync('sha256', key, '', 'countersign:requests', 32));
  return (bytes) => `${id}:${createHmac('sha256', hashing).update(bytes).digest('hex')}`;
}
