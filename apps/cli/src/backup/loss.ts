import { existsSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { isOfTenant, readAnchors } from '@countersign/audit';
import { usageError } from '../cli-error.js';
import { notesIn } from '../sqlite/data-folder.js';

/** What a checkpoint says that a backup lacks. */
export interface Loss {
  readonly tenant: string;
  /** How many events are missing at least. */
  readonly events: number;
  /** How many events the newest checkpoint covers. */
  readonly size: number;
}

/** Where later checkpoints may be. */
export interface CheckpointPlaces {
  /** What is left of the old data folder. */
  readonly lost: string | undefined;
  /** Files of checkpoints. */
  readonly checkpoints: readonly string[];
}

/**
 * Compares the sizes of the logs of a backup with the newest checkpoints that can be found. The checkpoints are not verified: a
 * larger one can only make the loss larger.
 * @throws CliError when a named file has no checkpoint
 */
export function findLoss(
  tenants: ReadonlyMap<string, number>,
  kept: ReadonlyMap<string, readonly string[]>,
  { lost, checkpoints }: CheckpointPlaces,
): readonly Loss[] {
  const named = checkpoints.flatMap((file) => anchorsIn(file));
  const ofFolder = lost === undefined ? undefined : join(lost, 'checkpoints.db');
  return [...tenants].flatMap(([tenant, events]) => {
    const left = ofFolder !== undefined && existsSync(ofFolder) ? notesIn(ofFolder, tenant) : [];
    const own = [...(kept.get(tenant) ?? []), ...left].flatMap((note) => readAnchors(note) ?? []);
    const size = Math.max(0, ...[...own, ...named.filter((one) => isOfTenant(one, tenant))].map((one) => one.size));
    return size > events ? [{ tenant, events: size - events, size }] : [];
  });
}

function anchorsIn(file: string) {
  const anchors = existsSync(file) ? readAnchors(readFileSync(file, 'utf8')) : undefined;
  if (anchors === undefined) throw usageError(`${file} has no checkpoint.`, 'Name the file of a signed checkpoint.');
  return anchors;
}
