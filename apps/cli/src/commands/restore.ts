import { copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { printable } from '@countersign/text';
import { findLoss } from '../backup/loss.js';
import type { Loss } from '../backup/loss.js';
import { changedFiles, newestBackup, readManifest, syncToDisk } from '../backup/manifest.js';
import { readCopy } from '../backup/read-copy.js';
import type { OpenWork, Survey } from '../backup/survey.js';
import type { CliError } from '../cli-error.js';
import { localError, usageError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Output } from '../invocation.js';
import { copyDatabase } from '../sqlite/copy-database.js';
import { acknowledgedIn } from '../sqlite/read-only.js';
import type { Line } from '../view/line.js';
import { keyFiles } from './backup.js';

/** The options of `countersign restore`. */
export interface RestoreOptions {
  readonly drill?: boolean;
  readonly to?: string;
  readonly keys?: string;
  readonly lost?: string;
  readonly checkpoint?: readonly string[];
  readonly reason?: string;
}

/** `countersign restore`: verifies a backup, says what is lost, and without `--drill` makes a data folder of it. */
export async function restore(output: Output, named: string, options: RestoreOptions): Promise<ExitCode> {
  const folder = backupIn(named);
  const target = resolve(options.to ?? output.terminal.env['COUNTERSIGN_DATA'] ?? './data');
  checkTarget(target, options);
  refuseChanged(folder);
  const read = await readBackup(output, folder);
  if (read === undefined) return exitCodes.interrupted;
  const old = options.lost === undefined ? undefined : resolve(options.lost);
  const loss = findLoss(read.found.tenants, read.notes, { lost: old, checkpoints: options.checkpoint ?? [] });
  const known = Math.max(read.end + sum(loss), old === undefined ? 0 : acknowledgedIn(old));
  const { end, found } = read;
  const isDrill = options.drill === true;
  if (!isDrill) await write({ folder, target, keys: options.keys, lost: old }, { end, known, found, ...options });
  const { open, stops } = found;
  const report = { backup: folder, end, known, lost: loss, open, stops, restored: isDrill ? null : target };
  output.printJson(report);
  output.print(...linesOf(report));
  return exitCodes.ok;
}

/** The folder with the `events.db` of a backup. */
function backupIn(named: string): string {
  const path = resolve(named);
  if (statSync(path, { throwIfNoEntry: false })?.isFile() === true) return pathOfCopy(path);
  const folder = existsSync(join(path, 'events.db')) ? path : newestBackup(path);
  if (folder !== undefined) return folder;
  throw usageError(`There is no backup in ${path}.`, 'Name a backup, or the folder of backups that has one.');
}

function pathOfCopy(path: string): string {
  if (path.endsWith('/events.db') || path.endsWith('\\events.db')) return join(path, '..');
  throw usageError(`${path} has another name than events.db.`, 'Rename the copy, and name its folder.');
}

function checkTarget(target: string, { reason, drill = false }: RestoreOptions): void {
  if (drill) return;
  if (reason === undefined)
    throw usageError('A restore is recorded.', 'Say why with --reason, or try it with --drill.');
  if (existsSync(target) && readdirSync(target).length > 0)
    throw usageError(`${target} is not empty.`, 'Move the old data folder away, and name an empty one with --to.');
}

function refuseChanged(folder: string): void {
  const manifest = readManifest(folder);
  const [changed] = manifest === undefined ? [] : changedFiles(folder, manifest);
  if (changed !== undefined) throw damaged(folder, changed);
}

function damaged(folder: string, why: string): CliError {
  return localError(
    'unexpected',
    'backup-damaged',
    `The backup in ${folder} is not sound: ${why}.`,
    'Use an earlier one.',
  );
}

interface ReadBackup {
  readonly end: number;
  readonly found: Survey;
  /** The checkpoints that are kept with the backup, by tenant. */
  readonly notes: ReadonlyMap<string, readonly string[]>;
}

/** Reads and verifies a whole backup, and changes nothing. @throws CliError where it is damaged */
function readBackup(output: Output, folder: string): Promise<ReadBackup | undefined> {
  return readCopy(
    output,
    folder,
    (damage) => damaged(folder, damage),
    (found, source) => ({
      ...{ end: source.total, found },
      notes: new Map([...found.tenants.keys()].map((tenant) => [tenant, source.keptNotes(tenant)])),
    }),
  );
}

interface Places {
  readonly folder: string;
  readonly target: string;
  readonly keys: string | undefined;
  readonly lost: string | undefined;
}

interface Restored {
  readonly end: number;
  readonly known: number;
  readonly found: Survey;
  readonly reason?: string;
}

/** The log gets its name last: a folder that a killed restore leaves cannot be started as if nothing had happened. */
async function write(
  { folder, target, keys, lost }: Places,
  { end, known, found, reason = '' }: Restored,
): Promise<void> {
  const { copyEvents } = await import('@countersign/event-store');
  mkdirSync(target, { recursive: true, mode: 0o700 });
  const mark = { end, known, tenants: [...found.tenants.keys()], reason };
  writeFileSync(join(target, 'restored.json'), JSON.stringify(mark), { mode: 0o600 });
  syncToDisk(join(target, 'restored.json'));
  if (keys !== undefined) {
    if (existsSync(join(keys, 'keys.db'))) await copyDatabase(join(keys, 'keys.db'), join(target, 'keys.db'));
    for (const name of keyFiles.filter((one) => existsSync(join(keys, one))))
      copyFileSync(join(keys, name), join(target, name));
  }
  // What was signed last, also of a log that has lost more, so that the next epoch begins after it.
  const signed = [lost, folder].find((one) => one !== undefined && existsSync(join(one, 'checkpoints.db')));
  if (signed !== undefined) await copyDatabase(join(signed, 'checkpoints.db'), join(target, 'checkpoints.db'));
  const part = join(target, 'events.part.db');
  copyEvents(join(folder, 'events.db'), part, end);
  for (const name of readdirSync(target)) syncToDisk(join(target, name));
  renameSync(part, join(target, 'events.db'));
  for (const ending of ['-wal', '-shm']) rmSync(`${part}${ending}`, { force: true });
  syncToDisk(target);
}

function sum(loss: readonly Loss[]): number {
  return loss.reduce((all, { events }) => all + events, 0);
}

interface Report {
  readonly backup: string;
  readonly end: number;
  readonly known: number;
  readonly lost: readonly Loss[];
  readonly open: OpenWork;
  readonly stops: readonly string[];
  readonly restored: string | null;
}

function linesOf({ backup, end, known, lost, open, stops, restored }: Report): Line[] {
  const { claimed, permitted, pending, grants } = open;
  const twice = [...claimed, ...permitted];
  return [
    { text: `The backup ${printable(backup)} is sound: ${String(end)} events.`, tone: 'green' },
    known > end
      ? {
          text: `Lost: at least ${String(known - end)} events. Tools of calls that are missing may have run.`,
          tone: 'red',
        }
      : { text: 'No later event is known. Name what is left of the old data folder (--lost), or a checkpoint.' },
    ...lost.map(({ tenant, events, size }) => ({
      text: `  ${printable(tenant)}: ${String(events)} of ${String(size)} signed events`,
    })),
    { text: `Claimed without an outcome: ${String(claimed.length)}. They become unknown.` },
    { text: `Approved or allowed, and not claimed: ${String(permitted.length)}. People are asked again.` },
    { text: `Pending: ${String(pending.length)}, as they were. Standing grants that end: ${String(grants.length)}.` },
    ...(twice.length === 0 ? [] : [{ text: `Could run twice without that: ${twice.slice(0, 20).join(' ')}` }]),
    ...stopLines(stops, restored),
    restored === null
      ? { text: 'Nothing was written.' }
      : { text: `Restored to ${printable(restored)}. The old server must never start again on its old folder.` },
  ];
}

/** Attack on an emergency: what was stopped after the backup would run again, and nobody would notice. */
function stopLines(stops: readonly string[], restored: string | null): Line[] {
  const file = printable(join(restored ?? '<the new folder>', 'STOP'));
  const inForce = stops.length === 0 ? 'none' : stops.map((stopId) => printable(stopId)).join(' ');
  return [
    { text: `Stops in force: ${inForce}. One that was lifted after the backup is in force again.` },
    {
      text: `A stop that was declared after the backup is lost: make the file ${file} before the start, and declare the stop again.`,
      tone: 'red',
    },
  ];
}
