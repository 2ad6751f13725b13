import { createHmac, hkdfSync } from 'node:crypto';
import { closeBox, openBox } from './box.js';
import { answersOwner as owner } from './subject-keys.js';
import type { SubjectKey, SubjectKeys } from './subject-keys.js';

/** Encrypts texts that a process keeps for a while, and hashes what they belong to. */
export interface SealedAnswers {
  /** A keyed hash, hex: it cannot be guessed without the key, and tells nothing once the key is destroyed. */
  readonly hash: (bytes: Uint8Array) => string;
  readonly close: (text: string) => string;
  /** Undefined: closed under an earlier key. A text that an older version stored in clear is returned as it is. */
  readonly open: (stored: string) => string | undefined;
}

/** The key of everything that is kept for a while, which every erasure destroys. */
export interface AnswersKey {
  /** With the key of now. */
  readonly answers: () => SealedAnswers;
  /** Destroys the key: all that was closed under it is lost. */
  readonly renew: () => Promise<void>;
}

/** Opens the key, or makes it. */
export async function openAnswersKey(keys: SubjectKeys): Promise<AnswersKey> {
  let answers = createSealedAnswers(await keys.current(...owner));
  return {
    answers: () => answers,
    renew: async () => {
      const old = keys.retire(...owner);
      answers = createSealedAnswers(await keys.current(...owner));
      keys.beginErasing(old);
      keys.destroy(old);
    },
  };
}

/** Texts under one key. */
export function createSealedAnswers({ id, key }: SubjectKey): SealedAnswers {
  const hashing = Buffer.from(hkdfSync('sha256', key, '', 'countersign:requests', 32));
  const prefix = `sealed:${id}:`;
  return {
    hash: (bytes) => createHmac('sha256', hashing).update(bytes).digest('hex'),
    close: (text) => prefix + closeBox(key, id, text).toString('base64'),
    open: (stored) => {
      // Answers are JSON, which begins with no such prefix.
      if (!stored.startsWith('sealed:')) return stored;
      if (!stored.startsWith(prefix)) return undefined;
      return openBox(key, id, Buffer.from(stored.slice(prefix.length), 'base64')).toString('utf8');
    },
  };
}
