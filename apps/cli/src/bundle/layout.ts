import type { BundleRules } from './rules.js';

/** The form of a bundle, by which its readers know it. */
export const bundleFormat = 'countersign-bundle/1';

/** The names of the files in a bundle. */
export const bundleFiles = {
  manifest: 'manifest.json',
  readme: 'README.md',
  columns: 'columns.csv',
  verifier: 'verify.mjs',
  system: 'system.ndjson',
} as const;

/** The events of one file in `events/`, by their first index. */
export const eventsPerFile = 51_200;

/** The file with the event of this index. */
export function eventsFile(index: number): string {
  const first = index - (index % eventsPerFile);
  return `events/${String(first).padStart(12, '0')}.ndjson`;
}

export const viewForms = ['ndjson', 'csv', 'parquet'] as const;

/** The file with the masked views of a month. */
export function viewsFile(month: string, form: (typeof viewForms)[number]): string {
  return `views/${month}.${form}`;
}

/** The month of a stored time, in UTC. A forged log may have others, which are kept together. */
export function monthOf(recordedAt: string): string {
  return /^\d{4}-\d{2}-/.test(recordedAt) ? recordedAt.slice(0, 7) : 'without-a-time';
}

/** The file with the content of a policy. Undefined for a version that is no digest. */
export function policyFile(policyVersion: string): string | undefined {
  const [, hex] = /^sha256:([0-9a-f]{64})$/.exec(policyVersion) ?? [];
  return hex === undefined ? undefined : `policies/${hex}.json`;
}

/** The file with the newest checkpoint of an epoch. */
export function checkpointFile(epoch: number): string {
  return `checkpoints/${String(epoch)}.txt`;
}

/** The file with the changes of the log key, beside the checkpoint of tiles. It exists only where the key was replaced. */
export const keyChangesFile = 'key-changes';

/** The files with the time stamp of a checkpoint, and with the text that is stamped. */
export function timestampFiles(epoch: number, size: number): { readonly reply: string; readonly text: string } {
  const path = `timestamps/${String(epoch)}/${String(size)}`;
  return { reply: `${path}.tsr`, text: `${path}.txt` };
}

/** The folder that is a log of C2SP's tlog-tiles. */
export function tilesFile(path: string): string {
  return `tiles/${path}`;
}

/** What a file of a bundle is, as the manifest has it. */
export interface ManifestFile {
  readonly bytes: number;
  /** 64 hex digits. */
  readonly sha256: string;
}

/** The manifest of a bundle. It vouches for nothing: trust comes from the checkpoint and a key from elsewhere. */
export interface Manifest {
  readonly format: typeof bundleFormat;
  readonly tenant: string;
  /** Null: the log has no signed checkpoint. */
  readonly origin: string | null;
  readonly epoch: number | null;
  /** The events of the bundle: from the tenant's first one. */
  readonly range: {
    readonly first: 0;
    readonly size: number;
    readonly from: string | null;
    readonly to: string | null;
  };
  readonly root: string;
  readonly checkpoint: string | null;
  /** `stored`: events with values in clear are commitments. `clear`: they are shown. */
  readonly values: 'stored' | 'clear';
  readonly commitments: number;
  /** The rules that the views were made with. Absent in bundles of earlier versions: they had the rules of 0.1.0. */
  readonly rules?: BundleRules;
  readonly files: Readonly<Record<string, ManifestFile>>;
}
