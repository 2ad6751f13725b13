import { closeSync, existsSync, fsyncSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import type { BundleCounts } from './bundle-events.js';
import type { BundleRules } from './rules.js';
import type { TreeState } from './tile-files.js';
import type { LastStamp } from './timestamp-files.js';

/** What a bundle will hold, chosen at its begin: a run that continues makes the same bundle. */
export interface BundlePlan {
  readonly tenant: string;
  readonly values: 'stored' | 'clear';
  /** How many events; null: as many as there are up to `head`. */
  readonly size: number | null;
  /** The position of the log's last event at the begin. */
  readonly head: number;
  /** The newest checkpoint of each epoch, the latest epoch first. */
  readonly notes: readonly string[];
  /** The changes of the log key, each as a line of JSON. Absent: there is none. */
  readonly keyChanges?: readonly string[];
  /** The newest time stamp. Absent: there is none. */
  readonly lastStamp?: LastStamp | undefined;
}

/** How far an export is. */
export interface ExportState {
  readonly plan: BundlePlan;
  /** The position of the last event that is written. */
  readonly position: number;
  readonly tree: TreeState;
  readonly counts: BundleCounts;
  readonly lengths: Readonly<Record<string, number>>;
  /** The rules that the views are made with. */
  readonly rules: BundleRules;
}

/** The first part of the name of each file that an export keeps for itself in the folder. */
export const ownFile = '.countersign-export';

const fileName = `${ownFile}.json`;

/** Returns the state of an export that was interrupted; undefined: none was. */
export function readProgress(folder: string): ExportState | undefined {
  const file = join(folder, fileName);
  return existsSync(file) ? (JSON.parse(readFileSync(file, 'utf8')) as ExportState) : undefined;
}

/** Replaces the state at once: a kill leaves the old one or the new one. */
export function saveProgress(folder: string, state: ExportState): void {
  replaceFile(join(folder, fileName), JSON.stringify(state));
}

export function removeProgress(folder: string): void {
  rmSync(join(folder, fileName), { force: true });
}

/** Writes a file as a whole: it has the new content, or is as it was. */
export function replaceFile(file: string, content: string): void {
  const next = `${file}.next`;
  const fd = openSync(next, 'w');
  // On a full disk one write may take only a part, without an error.
  writeFileSync(fd, content);
  fsyncSync(fd);
  closeSync(fd);
  renameSync(next, file);
}
