import { createEd25519Signer, deriveSeed } from '@countersign/audit';
import type { NoteSignature, NoteSigner, VerifierKey } from '@countersign/audit';
import { createLruMap } from '@countersign/runtime';

/** Signs checkpoints, each under its key name. */
export interface LogSigner {
  /** The public key of this name. @throws when it cannot be told at the moment */
  readonly keyOf: (keyName: string) => Promise<VerifierKey>;
  /** The signatures of a text. @throws when it cannot be signed at the moment */
  readonly sign: (keyName: string, text: string) => Promise<readonly NoteSignature[]>;
}

/** The keys of the names used last are kept: to derive one costs several times as much as to sign with it. */
const keysKept = 64;

/** Signs with keys that are derived from the log key. */
export function createSeedSigner(logSeed: Uint8Array): LogSigner {
  const known = createLruMap<NoteSigner>(keysKept);
  const signerOf = (keyName: string): NoteSigner => {
    const signer = known.get(keyName) ?? createEd25519Signer(keyName, deriveSeed(logSeed, keyName));
    known.set(keyName, signer);
    return signer;
  };
  return {
    keyOf: (keyName) => Promise.resolve(signerOf(keyName).key),
    sign: (keyName, text) => {
      const { key, sign } = signerOf(keyName);
      return Promise.resolve([{ name: key.name, id: key.id, signature: sign(text) }]);
    },
  };
}
