import { formatCheckpoint, formatNote, formatOrigin, keyTypes, verifyNote } from '@countersign/audit';
import type { NoteSignature, VerifierKey } from '@countersign/audit';
import type { Known } from './known-checkpoint.js';
import type { LogSigner } from './log-signer.js';
import type { SignedEpochs } from './signed-epochs.js';
import type { TenantTree } from './tenant-tree.js';

/** The tree, and who signs it. */
interface Signing {
  readonly tenant: string;
  readonly tree: TenantTree;
  readonly base: string;
  readonly signer: LogSigner;
}

/** Signs the tree as it is, with each of the keys. @throws Error when a signature is not one of its key */
export async function signTree(
  { tenant, tree, base, signer }: Signing,
  epochs: Pick<SignedEpochs, 'epoch'>,
  signers: readonly LogSigner[] = [signer],
  size = tree.size(),
): Promise<Known> {
  const epoch = epochs.epoch();
  const origin = formatOrigin({ base, tenant, epoch });
  const checkpoint = { origin, size, root: tree.rootAt(size), extensions: [] };
  const text = formatCheckpoint(checkpoint);
  const [keys, signatures] = [[] as VerifierKey[], [] as NoteSignature[]];
  for (const one of signers) {
    const own = await keysOf(one, origin);
    const lines = await one.sign(origin, text);
    keys.push(...own);
    // A change of the key is proven by one line of each key, and by nothing else.
    signatures.push(...lines.filter(({ id }) => signers.length === 1 || own.some((key) => key.id === id)));
  }
  const note = { text, signatures };
  const { verified, refuted } = verifyNote(note, keys);
  const byEd25519 = verified.filter(({ type }) => type === keyTypes.ed25519);
  if (byEd25519.length !== signers.length || refuted.length > 0)
    throw new Error(`the signature under ${origin} is not one of its key: nothing is signed`);
  return { ...checkpoint, epoch, base, note: formatNote(note) };
}

/** The public keys of a signer under this name: Ed25519 first, then ML-DSA-44 where it has one. */
export async function keysOf(signer: LogSigner, keyName: string): Promise<VerifierKey[]> {
  const second = await signer.mlDsaKeyOf(keyName);
  return [await signer.keyOf(keyName), ...(second === undefined ? [] : [second])];
}
