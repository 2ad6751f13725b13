import { formatVkey, keyChangeOf, readKeyChanges } from '@countersign/audit';
import type { VerifierKey } from '@countersign/audit';
import { crashPoint } from '@countersign/runtime';
import { isSigned } from './known-checkpoint.js';
import type { Known } from './known-checkpoint.js';
import type { LogSigner } from './log-signer.js';
import { proofIn, proveStream } from './proven-events.js';
import type { ProvenStream } from './proven-events.js';
import type { KeptKeyChange } from './sqlite/checkpoint-file.js';
import type { TenantTree } from './tenant-tree.js';

/** A planned change of the log key. */
export interface KeyRotation {
  /** Signs with the key that signed until now. */
  readonly previous: LogSigner;
  /** Records `LogKeyChanged` in the tenant's log, unless it is the change that was recorded last. @throws as the store */
  readonly record: (tenant: string, keys: ChangedKeys) => Promise<RecordedKeyChange>;
}

/** The vkeys of a change. */
export interface ChangedKeys {
  readonly before: string;
  readonly after: string;
  /** Of the ML-DSA-44 key that signed beside the old key, and of the one beside the new key; null: there is none. Absent: none did. */
  readonly mlDsa?: { readonly before: string; readonly after: string | null };
}

/** Where the event of a change is. */
export interface RecordedKeyChange {
  readonly stream: string;
  readonly revision: number;
}

/** Whose key signed the newest checkpoint: that of this process, that before it, or another one. */
export type KeyState = 'own' | 'previous' | 'other';

/** Finds out whose key signed a checkpoint. A key that was replaced since no longer counts. */
export async function keyStateOf(
  newest: Known,
  { signer, rotation }: { readonly signer: LogSigner; readonly rotation?: KeyRotation | undefined },
  changes: readonly KeptKeyChange[],
): Promise<KeyState> {
  const last = changes.findLast(({ epoch }) => epoch === newest.epoch);
  const [changed] = readKeyChanges(last === undefined ? [] : [last.proof]);
  // Attack and mistake: the old key is put back. The checkpoint of the change has its signature too.
  const counts = (key: VerifierKey): boolean =>
    isSigned(newest, key) && (changed === undefined || formatVkey(changed.after) === formatVkey(key));
  if (counts(await signer.keyOf(newest.origin))) return 'own';
  if (rotation !== undefined && counts(await rotation.previous.keyOf(newest.origin))) return 'previous';
  return 'other';
}

/** The dependencies of a change of the key of one tenant. */
export interface KeyRotating extends Pick<ProvenStream, 'store'> {
  readonly tenant: string;
  readonly tree: TenantTree;
  readonly signer: LogSigner;
  readonly rotation: KeyRotation;
  /** The vkeys of the tenant until now. */
  readonly vkeys: () => Promise<readonly string[]>;
  /** The checkpoint of the first `size` events, signed with each of the keys. */
  readonly signWith: (signers: readonly LogSigner[], size: number) => Promise<Known>;
}

/** A signed checkpoint; with the change of the log key, where it is the one that both keys signed. */
export interface Signed {
  readonly known: Known;
  readonly change?: KeptKeyChange | undefined;
}

/**
 * Replaces the key: records the event, and signs with both keys a checkpoint of a tree that has it. The caller keeps both together.
 * Each step may be the last one before a crash; the next start does what is missing. Undefined while the tree does not have the
 * event yet.
 */
export async function rotateKey(origin: string, rotating: KeyRotating): Promise<Signed | undefined> {
  const { tenant, tree, store, signer, rotation, signWith } = rotating;
  const { stream, revision } = await rotation.record(tenant, await changedKeys(origin, rotation.previous, signer));
  crashPoint('notary.key-recorded');
  const size = tree.size();
  // The same two keys may have been changed before, and back. That event is not this one.
  const found = (await proveStream({ store, tree, tenant, stream, size }))[revision];
  if (found === undefined) return undefined;
  const known = await signWith([rotation.previous, signer], size);
  crashPoint('notary.key-signed');
  const proven = proofIn(found, known.note);
  // A change that no verifier accepts must not be kept: the new key would sign what nobody trusts.
  if (keyChangeOf(proven) === undefined) throw new Error(`the change of the log key of ${origin} cannot be proven`);
  const vkeys = await rotating.vkeys();
  return { known, change: { epoch: known.epoch, size, proof: JSON.stringify(proven), vkeys } };
}

async function changedKeys(origin: string, previous: LogSigner, signer: LogSigner): Promise<ChangedKeys> {
  const [before, after] = [await previous.keyOf(origin), await signer.keyOf(origin)];
  const keys = { before: formatVkey(before), after: formatVkey(after) };
  const [old, next] = [await previous.mlDsaKeyOf(origin), await signer.mlDsaKeyOf(origin)];
  if (old === undefined) return keys;
  return { ...keys, mlDsa: { before: formatVkey(old), after: next === undefined ? null : formatVkey(next) } };
}
