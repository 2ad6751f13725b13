import { existsSync, mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { isSameHash, tenantOf } from '@countersign/audit';
import type { Anchor, Hash } from '@countersign/audit';
import { eachEvent } from '../audit/each-event.js';
import type { SourceEvent } from '../audit/log-source.js';
import { localError, usageError } from '../cli-error.js';
import { openAppendFiles } from './append-files.js';
import type { AppendFiles } from './append-files.js';
import { writeBuiltInPolicy, writeCommitment, writeEvent } from './bundle-events.js';
import type { BundleCounts, BundleTarget } from './bundle-events.js';
import { bundleFiles, bundleFormat, checkpointFile, keyChangesFile, tilesFile } from './layout.js';
import type { Manifest } from './layout.js';
import { finishBundle } from './finish-bundle.js';
import { currentRules } from './rules.js';
import { ownFile, readProgress, saveProgress } from './progress-file.js';
import type { BundlePlan, ExportState } from './progress-file.js';
import { startTables } from './tables.js';
import type { Tables } from './tables.js';
import { createTiles, writeTiles } from './tile-files.js';
import type { TileFiles } from './tile-files.js';
import { writeTimestamps } from './timestamp-files.js';
import type { ExportedStamp } from './timestamp-files.js';

/** The parts of an export, for a line that shows how far it is. */
export type ExportPart = 'events' | 'table rows' | 'files';

/** What an export needs. */
export interface ExportPorts {
  /** The folder of the bundle. */
  readonly folder: string;
  /** Chooses what the bundle will hold; not asked by a run that continues. */
  readonly plan: () => BundlePlan;
  /** The events after a position of the log. */
  readonly eventsAfter: (position: number) => AsyncIterable<SourceEvent> | Iterable<SourceEvent>;
  /** The newest checkpoint among those of the plan, and its text. */
  readonly newest: (notes: readonly string[]) => readonly { readonly anchor: Anchor; readonly note: string }[];
  /** The time stamps of the tenant's checkpoints, in their order. Absent: there are none. */
  readonly timestamps?: (tenant: string) => AsyncIterable<ExportedStamp> | Iterable<ExportedStamp>;
  /** The texts that come with a bundle, by their names. */
  readonly documents: (manifest: Omit<Manifest, 'files'>) => Readonly<Record<string, string>>;
  readonly onProgress: (part: ExportPart, done: number, total: number) => void;
  readonly interrupted: AbortSignal;
  /** The state is saved after so many events: a whole number of tiles. Absent: 25,600. */
  readonly savedEvery?: number;
}

/**
 * Writes a bundle. It holds a page of events in memory. A thread makes the tables from the views while they are written. A run that was
 * interrupted, also by a kill, is continued by the next one. Returns undefined when the person interrupts it. @throws CliError where
 * the log is damaged, or is not the one of its checkpoint
 */
export async function exportBundle(ports: ExportPorts): Promise<Manifest | undefined> {
  const { folder, onProgress, interrupted } = ports;
  const state = continued(folder) ?? begun(folder, ports.plan());
  const [tiles, counts] = [createTiles(writeTiles(folder), state.tree), structuredClone(state.counts)];
  const tables = startTables(folder);
  try {
    const files = openFiles(folder, state, tables);
    if (!(await writeEvents(ports, state, { folder, files, tiles, counts, values: state.plan.values }, tables)))
      return undefined;
    writeBuiltInPolicy(folder, state.plan.tenant);
    const made = tables.end((rows) => {
      onProgress('table rows', rows, tiles.size());
    });
    const facts = factsOf(ports, state.plan, tiles, counts);
    await addTimestamps(ports, state.plan, facts);
    for (const [name, text] of Object.entries(ports.documents(facts))) writeFileSync(join(folder, name), text);
    return await finishBundle({ folder, facts, made, interrupted, onFile: (at, of) => onProgress('files', at, of) });
  } finally {
    await tables.close();
  }
}

/** The files that grow with each event. The tables are made of those of the views. */
function openFiles(folder: string, { lengths }: ExportState, tables: Tables): AppendFiles {
  const tell = (path: string, length: number): void => {
    if (/^views\/.*\.ndjson$/.test(path)) tables.grown(path, length);
  };
  for (const [path, length] of Object.entries(lengths)) tell(path, length);
  return openAppendFiles(folder, lengths, tell);
}

/** The state of an export that was interrupted. @throws CliError where another version began it: its views may differ */
function continued(folder: string): ExportState | undefined {
  const state = readProgress(folder);
  if (state === undefined || JSON.stringify(state.rules) === JSON.stringify(currentRules())) return state;
  throw usageError(
    `Another version of Countersign began the export to ${folder}.`,
    'Remove the folder, or name another one.',
  );
}

/** Refuses a folder in which no export can begin or go on. @throws CliError */
export function checkFolder(folder: string): void {
  if (!existsSync(folder) || readProgress(folder) !== undefined) return;
  if (existsSync(join(folder, bundleFiles.manifest))) {
    throw usageError(`There is a bundle in ${folder}.`, 'Name another folder.');
  }
  if (readdirSync(folder).some((name) => !name.startsWith(ownFile))) {
    throw usageError(`${folder} is not empty.`, 'Name a new folder, or an empty one.');
  }
}

/** The state of an export that has written nothing. */
function begun(folder: string, plan: BundlePlan): ExportState {
  checkFolder(folder);
  mkdirSync(folder, { recursive: true });
  const counts = { commitments: 0, from: null, to: null, months: [] };
  const state = {
    plan,
    position: 0,
    tree: { size: 0, range: [], open: [] },
    counts,
    lengths: {},
    rules: currentRules(),
  };
  saveProgress(folder, state);
  return state;
}

async function addTimestamps(
  { folder, timestamps }: ExportPorts,
  { tenant, lastStamp }: BundlePlan,
  { epoch, range }: Omit<Manifest, 'files'>,
): Promise<void> {
  if (timestamps === undefined || lastStamp === undefined || epoch === null) return;
  await writeTimestamps(folder, timestamps(tenant), { epoch, size: range.size, last: lastStamp });
}

/** Returns false when the person interrupts it. @throws what made the tables fail */
async function writeEvents(
  ports: ExportPorts,
  { plan, position, rules }: ExportState,
  target: BundleTarget,
  { failed }: Tables,
): Promise<boolean> {
  const { files, tiles, counts } = target;
  const { savedEvery = 25_600 } = ports;
  const total = plan.size ?? plan.head;
  const isAfter = ({ done }: SourceEvent): boolean => tiles.size() === plan.size || done > plan.head;
  const stopped = AbortSignal.any([ports.interrupted, failed]);
  try {
    const isWritten = await eachEvent(ports.eventsAfter(position), stopped, (event) => {
      if (isAfter(event)) return false;
      if (!writeSound(target, event, plan.tenant)) return true;
      const tree = tiles.size() % savedEvery === 0 ? tiles.state() : undefined;
      if (tree !== undefined) {
        saveProgress(target.folder, { plan, position: event.done, tree, counts, lengths: files.sync(), rules });
      }
      ports.onProgress('events', plan.size === null ? event.done : tiles.size(), total);
      return true;
    });
    failed.throwIfAborted();
    if (isWritten) finishEvents(files, tiles);
    return isWritten;
  } finally {
    files.close();
  }
}

/** Returns false for an event of another tenant. */
function writeSound(
  target: BundleTarget,
  { stored, entry, view, damage: [first] }: SourceEvent,
  tenant: string,
): boolean {
  if (first !== undefined) throw damaged(first.detail);
  if (stored !== undefined) {
    if (tenantOf(stored) !== tenant) return false;
    writeEvent(target, stored);
    return true;
  }
  if (entry === undefined || view === undefined) throw damaged('an event is missing');
  writeCommitment(target, entry, view);
  return true;
}

function finishEvents(files: AppendFiles, tiles: TileFiles): void {
  tiles.end();
  files.append(bundleFiles.system, '');
  files.sync();
}

function damaged(detail: string): Error {
  return localError(
    'unexpected',
    'damaged-log',
    `The log is damaged: ${detail}.`,
    'Nothing more is exported. See `countersign audit verify`.',
  );
}

/** All of the manifest but its files. Attack: the log was cut or rewritten after its checkpoint was signed. */
function factsOf(
  { folder, newest }: ExportPorts,
  { tenant, values, notes, keyChanges }: BundlePlan,
  tiles: TileFiles,
  { commitments, from, to }: BundleCounts,
): Omit<Manifest, 'files'> {
  const checkpoints = newest(notes);
  const [top] = checkpoints;
  const [size, root] = [tiles.size(), tiles.root()];
  if (top !== undefined && !isOf(top.anchor, size, root)) {
    throw damaged(`its first ${String(top.anchor.size)} events are not those of its checkpoint`);
  }
  for (const { anchor, note } of checkpoints) writeNote(folder, checkpointFile(anchor.epoch), note);
  if (top !== undefined) writeNote(folder, tilesFile('checkpoint'), top.note);
  writeKeyChanges(folder, keyChanges);
  const { origin, epoch } = top?.anchor ?? { origin: null, epoch: null };
  return {
    ...{ format: bundleFormat, tenant, origin, epoch, range: { first: 0, size, from, to } },
    ...{
      root: Buffer.from(root).toString('base64'),
      checkpoint: top?.note ?? null,
      values,
      commitments,
      rules: currentRules(),
    },
  };
}

function isOf(anchor: Anchor, size: number, root: Hash): boolean {
  return anchor.size === size && isSameHash(anchor.root, root);
}

function writeKeyChanges(folder: string, changes: readonly string[] = []): void {
  if (changes.length > 0) writeNote(folder, tilesFile(keyChangesFile), changes.map((one) => `${one}\n`).join(''));
}

function writeNote(folder: string, path: string, note: string): void {
  const file = join(folder, path);
  mkdirSync(dirname(file), { recursive: true });
  writeFileSync(file, note);
}
