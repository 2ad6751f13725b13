import { constants, copyFileSync, existsSync, mkdirSync, readdirSync, renameSync, rmSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';
import { changedFiles, digestOf, newestBackup, readManifest, syncToDisk, writeManifest } from '../backup/manifest.js';
import type { BackupManifest } from '../backup/manifest.js';
import { leaveMark } from '../backup/mark.js';
import { readCopy } from '../backup/read-copy.js';
import type { Survey } from '../backup/survey.js';
import type { CliError } from '../cli-error.js';
import { localError, usageError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Output } from '../invocation.js';
import { copyDatabase, keyIdsIn } from '../sqlite/copy-database.js';
import { openDataFolder } from '../sqlite/data-folder.js';

/** The options of `countersign backup`. */
export interface BackupOptions {
  readonly output: string;
  readonly keys?: string;
}

/** The files that are needed to read and to sign the log, and that must not lie beside it. */
export const keyFiles = ['root.key', 'log.key', 'receipt.key', 'tokens.json'] as const;

/** `countersign backup`: copies the log of a data folder, which a server may write meanwhile, and verifies the copy. */
export async function backup(output: Output, named: string | undefined, options: BackupOptions): Promise<ExitCode> {
  const folder = resolve(named ?? output.terminal.env['COUNTERSIGN_DATA'] ?? './data');
  const { into, keys } = foldersOf(folder, options);
  const name = new Date(output.terminal.now()).toISOString().replaceAll(/[-:.]/g, '');
  const part = privateFolder(join(into, `${name}.part`));
  // Before the log, so that the newest checkpoint covers no more than the copy has.
  const checkpoints = join(folder, 'checkpoints.db');
  if (existsSync(checkpoints)) await copyDatabase(checkpoints, join(part, 'checkpoints.db'));
  const copied = await copyLog(folder, part, newestBackup(into));
  // After the log: a key is in keys.db before the log names it.
  if (keys !== undefined) await copyKeys(folder, keys);
  const found = await verified(output, part, keys);
  if (found === undefined) return exitCodes.interrupted;
  const manifest = manifestOf(output, part, keys, found, copied.chain);
  finish(part, join(into, name), manifest);
  const recorded = leaveMark(folder, join(into, name), manifest);
  const { position } = found;
  const report = { backup: join(into, name), position, copied: position - copied.from, keys: keys ?? null };
  output.printJson({ ...report, recorded, open: found.survey.open });
  if (!recorded) output.print({ text: `The log will not tell of it: ${folder} cannot be written.`, tone: 'yellow' });
  const words = `Verified: ${String(position)} events, of which ${String(report.copied)} are new: ${report.backup}`;
  output.print({ text: words, tone: 'green' }, { text: keysWords(keys) });
  return exitCodes.ok;
}

function foldersOf(
  folder: string,
  options: BackupOptions,
): { readonly into: string; readonly keys: string | undefined } {
  if (!existsSync(join(folder, 'events.db')))
    throw usageError(`There is no log in ${folder}.`, 'Name a data folder, or set COUNTERSIGN_DATA.');
  const into = privateFolder(options.output);
  const keys = options.keys === undefined ? undefined : privateFolder(options.keys);
  if (keys !== undefined && !relative(into, keys).startsWith('..'))
    throw usageError('The keys would lie beside the log.', 'Name another folder with --keys.');
  // What a command that was killed has left.
  for (const name of readdirSync(into)) if (name.endsWith('.part')) rmSync(join(into, name), { recursive: true });
  return { into, keys };
}

/** The backup gets its name when all of it is on the disk. */
function finish(part: string, backup: string, manifest: BackupManifest): void {
  writeManifest(part, manifest);
  for (const one of Object.keys(manifest.files)) syncToDisk(join(part, one));
  syncToDisk(part);
  renameSync(part, backup);
  syncToDisk(dirname(backup));
}

function keysWords(keys: string | undefined): string {
  return keys === undefined
    ? 'Without the keys, which sensitive values and checkpoints need. Copy them elsewhere with --keys.'
    : `The keys are in ${keys}. Keep them apart from the backups.`;
}

function privateFolder(target: string): string {
  const folder = resolve(target);
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  return folder;
}

interface Copied {
  /** The last position that was in the backup before. */
  readonly from: number;
  readonly chain: Uint8Array;
}

/** Goes on with the copy of the backup before, if it is one of this log. */
async function copyLog(folder: string, part: string, before: string | undefined): Promise<Copied> {
  const { copyEvents, EventStoreDamagedError } = await import('@countersign/event-store');
  const [file, target] = [join(folder, 'events.db'), join(part, 'events.db')];
  const { position, chain } = headOf(folder);
  if (before !== undefined && isSound(before)) {
    copyFileSync(join(before, 'events.db'), target, constants.COPYFILE_FICLONE);
    try {
      const { position: from } = headOf(part);
      copyEvents(file, target, position);
      return { from, chain };
    } catch (error) {
      // Of another log, or damaged: then all is copied.
      if (!(error instanceof EventStoreDamagedError)) throw error;
      for (const end of ['', '-wal', '-shm']) rmSync(`${target}${end}`, { force: true });
    }
  }
  copyEvents(file, target, position);
  return { from: 0, chain };
}

/** What is not as it was written is no base of the next one. */
function isSound(backup: string): boolean {
  const manifest = readManifest(backup);
  return manifest !== undefined && changedFiles(backup, manifest).length === 0;
}

function headOf(folder: string): { readonly position: number; readonly chain: Uint8Array } {
  const source = openDataFolder(folder);
  try {
    return { position: source.total, chain: source.chain };
  } finally {
    source.close();
  }
}

async function copyKeys(folder: string, keys: string): Promise<void> {
  const target = join(keys, 'keys.db');
  if (existsSync(join(folder, 'keys.db'))) {
    rmSync(`${target}.new`, { force: true });
    await copyDatabase(join(folder, 'keys.db'), `${target}.new`);
    syncToDisk(`${target}.new`);
    renameSync(`${target}.new`, target);
  }
  for (const name of keyFiles) {
    if (!existsSync(join(folder, name))) continue;
    copyFileSync(join(folder, name), join(keys, `${name}.new`));
    syncToDisk(join(keys, `${name}.new`));
    renameSync(join(keys, `${name}.new`), join(keys, name));
  }
  syncToDisk(keys);
}

interface Verified {
  readonly survey: Survey;
  readonly notes: ReadonlyMap<string, string | undefined>;
  readonly position: number;
}

/** Reads the whole copy. @throws CliError when it is not what was recorded, or lacks keys. */
async function verified(output: Output, part: string, keys: string | undefined): Promise<Verified | undefined> {
  return readCopy(output, part, unsound, (found, source) => {
    const known = keys === undefined ? undefined : keyIdsIn(join(keys, 'keys.db'));
    const lost = known === undefined ? [] : [...found.keys].filter((key) => !known.has(key));
    if (lost.length > 0)
      throw localError('unexpected', 'keys-lost', `${String(lost.length)} keys of the log are not in keys.db.`, '');
    const notes = new Map([...found.tenants.keys()].map((tenant) => [tenant, source.keptNotes(tenant)[0]]));
    return { survey: found, notes, position: source.total };
  });
}

function unsound(damage: string): CliError {
  return localError(
    'unexpected',
    'backup-damaged',
    `The copy is not sound: ${damage}.`,
    'See: countersign audit verify',
  );
}

function manifestOf(
  output: Output,
  part: string,
  keys: string | undefined,
  { survey: { tenants }, notes, position }: Verified,
  chain: Uint8Array,
): BackupManifest {
  const isThere = (name: string): boolean => statSync(join(part, name), { throwIfNoEntry: false }) !== undefined;
  const files = ['events.db', 'checkpoints.db'].filter(isThere);
  const hasKeys = keys !== undefined && existsSync(join(keys, 'keys.db'));
  return {
    version: 1,
    createdAt: new Date(output.terminal.now()).toISOString(),
    log: { position, chain: Buffer.from(chain).toString('hex') },
    tenants: Object.fromEntries(
      [...tenants].map(([tenant, events]) => [tenant, { events, checkpoint: notes.get(tenant) ?? null }]),
    ),
    files: Object.fromEntries(files.map((name) => [name, digestOf(join(part, name))])),
    keys: hasKeys ? digestOf(join(keys, 'keys.db')) : null,
  };
}
