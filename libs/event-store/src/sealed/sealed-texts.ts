import { KeysUnavailableError } from '../event-store.js';
import { closeBox, openBox } from './box.js';
import type { SubjectKeys } from './subject-keys.js';

/** Encrypts texts of copies, such as the rows of a read model, with the keys of subjects. */
export interface SealedTexts {
  /** @throws Error when there is no such key. */
  readonly close: (keyId: string, text: string) => Uint8Array;
  /** @throws Error when the key is destroyed or the bytes were altered. */
  readonly open: (stored: Uint8Array) => string;
  /** The number of keys that were ever made. It is lower than before when the keys are from an older backup. */
  readonly keysMade: () => number;
  /** Differs after each erasure: a copy that was made before it may have texts that cannot be opened. */
  readonly erasedKeys: () => string;
}

/** The length of a key's id, a UUID. */
const idChars = 36;

/** Texts under the keys of subjects: the key's id, then its box. */
export function createSealedTexts(keys: Pick<SubjectKeys, 'findForCopies' | 'keysMade' | 'erasedKeys'>): SealedTexts {
  const keyOf = (id: string) => {
    const key = keys.findForCopies(id);
    if (key !== undefined) return key;
    // In a cluster another process destroys the key while this one may still build its copies again.
    throw new KeysUnavailableError(
      `the key ${id} of a stored copy is destroyed or missing: the copy is built again, at the latest by a restart`,
    );
  };
  return {
    keysMade: keys.keysMade,
    erasedKeys: keys.erasedKeys,
    close: (keyId, text) => Buffer.concat([Buffer.from(keyId), closeBox(keyOf(keyId), keyId, text)]),
    open: (stored) => {
      const keyId = Buffer.from(stored.subarray(0, idChars)).toString();
      return openBox(keyOf(keyId), keyId, stored.subarray(idChars)).toString('utf8');
    },
  };
}
