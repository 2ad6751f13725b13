import { createEd25519Signer, createMlDsaSigner, deriveMlDsaSeed, deriveSeed, signNote } from '@countersign/audit';
import type { NoteSignature, NoteSigner, VerifierKey } from '@countersign/audit';
import { createLruMap } from '@countersign/runtime';

/** Signs checkpoints, each under its key name. */
export interface LogSigner {
  /** The public Ed25519 key of this name. @throws when it cannot be told at the moment */
  readonly keyOf: (keyName: string) => Promise<VerifierKey>;
  /** The public ML-DSA-44 key of this name; undefined: it signs with Ed25519 alone. @throws when it cannot be told at the moment */
  readonly mlDsaKeyOf: (keyName: string) => Promise<VerifierKey | undefined>;
  /** The signatures of a text. @throws when it cannot be signed at the moment */
  readonly sign: (keyName: string, text: string) => Promise<readonly NoteSignature[]>;
}

/** The keys of the names used last are kept: to derive one costs several times as much as to sign with it. */
const keysKept = 64;

/** Signs with keys that are derived from the log key: Ed25519, and ML-DSA-44 where the runtime has it. */
export function createSeedSigner(logSeed: Uint8Array): LogSigner {
  const known = createLruMap<SeedSigners>(keysKept);
  const signersOf = (keyName: string): SeedSigners => {
    const signers = known.get(keyName) ?? {
      ed25519: createEd25519Signer(keyName, deriveSeed(logSeed, keyName)),
      mlDsa: createMlDsaSigner(keyName, deriveMlDsaSeed(logSeed, keyName)),
    };
    known.set(keyName, signers);
    return signers;
  };
  return {
    keyOf: (keyName) => Promise.resolve(signersOf(keyName).ed25519.key),
    mlDsaKeyOf: (keyName) => Promise.resolve(signersOf(keyName).mlDsa?.key),
    sign: (keyName, text) => {
      const { ed25519, mlDsa } = signersOf(keyName);
      return Promise.resolve(signNote(text, mlDsa === undefined ? [ed25519] : [ed25519, mlDsa]).signatures);
    },
  };
}

interface SeedSigners {
  readonly ed25519: NoteSigner;
  readonly mlDsa: NoteSigner | undefined;
}
