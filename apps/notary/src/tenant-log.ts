import {
  createEd25519Signer,
  deriveSeed,
  formatCheckpoint,
  formatNote,
  formatOrigin,
  formatVkey,
  isSameHash,
  parseCheckpoint,
  parseNote,
  parseOrigin,
  signNote,
  verifyNote,
} from '@countersign/audit';
import type { Checkpoint, NoteSigner } from '@countersign/audit';
import type { Log } from '@countersign/runtime';
import type { CheckpointFile } from './sqlite/checkpoint-file.js';
import type { TenantTree } from './tenant-tree.js';

/** The dependencies of a tenant's log. */
export interface TenantLogPorts {
  readonly tenant: string;
  readonly tree: TenantTree;
  readonly checkpoints: CheckpointFile;
  /** The origin of the installation. */
  readonly base: string;
  readonly logSeed: Uint8Array;
  /** The operator accepts a log that contradicts what was signed: it goes on as the next epoch. */
  readonly acceptsContradiction: boolean;
  readonly log: Log;
}

/** The tree of a tenant and its checkpoints. */
export interface TenantLog {
  readonly tenant: string;
  readonly tree: TenantTree;
  /** How many events no checkpoint of this epoch covers. */
  readonly unsigned: () => number;
  /**
   * Compares the tree with the newest signed checkpoint. Returns why they contradict each other; undefined while nothing
   * contradicts. `isWhole`: the tree has every event of the log.
   */
  readonly contradiction: (isWhole: boolean) => string | undefined;
  /** Signs a checkpoint of the tree and keeps it. Only after the tree was compared. */
  readonly sign: () => void;
  /** The newest signed checkpoint of this epoch. */
  readonly newest: () => string | undefined;
  /** The keys of this epoch and of those before it, the latest first, each as a line. */
  readonly vkeys: () => readonly string[];
}

/** A checkpoint that was signed before. */
interface Known extends Checkpoint {
  readonly epoch: number;
  readonly base: string;
  readonly note: string;
}

/** The log of a tenant, continued from its newest checkpoint. @throws Error when that cannot be read. */
export function openTenantLog(ports: TenantLogPorts): TenantLog {
  const { tenant, tree, checkpoints, base, logSeed, log } = ports;
  const signerOf = (origin: string): NoteSigner => createEd25519Signer(origin, deriveSeed(logSeed, origin));
  const kept = checkpoints.ofTenant(tenant).map(({ note, epoch }) => toKnown(tenant, epoch, note));
  const [latest] = kept;
  const isOtherOrigin = latest !== undefined && latest.base !== base;
  let epoch = latest === undefined ? 1 : latest.epoch + (isOtherOrigin ? 1 : 0);
  let signer = signerOf(formatOrigin({ base, tenant, epoch }));
  let isCompared = latest === undefined;
  let current = isOtherOrigin ? undefined : latest;
  warnOfOtherKey(latest, signerOf, log);

  const contradictionOf = (isWhole: boolean): string | undefined => {
    if (isCompared || latest === undefined) return undefined;
    if (tree.size() >= latest.size) {
      isCompared = isSameHash(tree.rootAt(latest.size), latest.root);
      if (isCompared) return undefined;
      return `the first ${String(latest.size)} events of tenant "${tenant}" are not those of the newest signed checkpoint`;
    }
    if (!isWhole) return undefined;
    return `tenant "${tenant}" has ${String(tree.size())} events, and the newest signed checkpoint covers ${String(latest.size)}`;
  };
  const beginEpoch = (why: string): void => {
    epoch += isOtherOrigin ? 0 : 1;
    signer = signerOf(formatOrigin({ base, tenant, epoch }));
    [isCompared, current] = [true, undefined];
    log.warn({ tenant, epoch, why }, 'the log goes on as the next epoch, as accepted');
  };
  return {
    tenant,
    tree,
    unsigned: () => tree.size() - (current?.size ?? 0),
    contradiction: (isWhole) => {
      const why = contradictionOf(isWhole);
      if (why === undefined || !ports.acceptsContradiction) return why;
      beginEpoch(why);
      return undefined;
    },
    sign: () => {
      const origin = signer.key.name;
      const checkpoint = { origin, size: tree.size(), root: tree.rootAt(tree.size()), extensions: [] };
      const note = formatNote(signNote(formatCheckpoint(checkpoint), [signer]));
      // Kept before it is served: what was signed must never be forgotten.
      checkpoints.save({ tenant, epoch, note });
      current = { ...checkpoint, epoch, base, note };
    },
    newest: () => current?.note,
    vkeys: () => {
      const earlier = kept
        .filter((one) => one.epoch !== epoch && isSigned(one, signerOf(one.origin)))
        .map((one) => signerOf(one.origin));
      return [signer, ...earlier].map(({ key }) => formatVkey(key));
    },
  };
}

function toKnown(tenant: string, epoch: number, note: string): Known {
  const checkpoint = parseCheckpoint(parseNote(note)?.text ?? '');
  const base = parseOrigin(checkpoint?.origin ?? '')?.base;
  if (checkpoint !== undefined && base !== undefined) return { ...checkpoint, base, epoch, note };
  throw new Error(
    `checkpoints.db has a checkpoint of tenant "${tenant}" that cannot be read: restore the file from a backup`,
  );
}

function isSigned({ note }: Known, { key }: NoteSigner): boolean {
  const parsed = parseNote(note);
  return parsed !== undefined && verifyNote(parsed, [key]).verified.length > 0;
}

function warnOfOtherKey(latest: Known | undefined, signerOf: (origin: string) => NoteSigner, log: Log): void {
  if (latest === undefined || isSigned(latest, signerOf(latest.origin))) return;
  const { origin } = latest;
  log.warn({ origin }, 'the newest checkpoint was signed with another log key: auditors need the new vkey');
}
