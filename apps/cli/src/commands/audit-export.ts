import { existsSync, rmSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { isOfTenant, readAnchors } from '@countersign/audit';
import type { Anchor } from '@countersign/audit';
import { printable } from '@countersign/text';
import { createProgress } from '../audit/progress.js';
import type { Progress } from '../audit/progress.js';
import { documentsOf, readVerifier } from '../bundle/documents.js';
import { checkFolder, exportBundle } from '../bundle/export-bundle.js';
import type { ExportPart, ExportPorts } from '../bundle/export-bundle.js';
import { lockExport } from '../sqlite/export-lock.js';
import type { Manifest } from '../bundle/layout.js';
import { finishedManifest } from '../bundle/manifest.js';
import type { BundlePlan } from '../bundle/progress-file.js';
import { readServerLog } from '../bundle/server-log.js';
import type { ExportedStamp } from '../bundle/timestamp-files.js';
import { zipFolder } from '../bundle/zip-folder.js';
import { usageError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Invocation, Output } from '../invocation.js';
import { openDataFolder } from '../sqlite/data-folder.js';
import type { DataFolder } from '../sqlite/data-folder.js';

/** The options of `countersign audit export`. */
export interface ExportOptions {
  readonly output: string;
  readonly tenant?: string;
  readonly values: 'stored' | 'clear';
  /** End with the newest checkpoint, also without the quorum of witnesses. */
  readonly pending?: boolean;
}

/** `countersign audit export`: writes a bundle from a data folder, or from a server as its auditor. */
export async function exportLog(
  invocation: Output | Invocation,
  named: string | undefined,
  options: ExportOptions,
): Promise<ExitCode> {
  const output: Output = invocation;
  const verifier = readVerifier();
  const target = resolve(options.output);
  const isZip = target.endsWith('.zip');
  if (isZip && existsSync(target)) throw usageError(`There is a file ${target}.`, 'Name another one.');
  const manifest = await write(target, isZip, { invocation, named, options, verifier });
  if (manifest === undefined) return interrupted(output);
  tell(output, target, manifest);
  return exitCodes.ok;
}

/** Writes the folder or the zip file. Returns undefined when the person interrupts it. */
async function write(target: string, isZip: boolean, wanted: Wanted): Promise<Manifest | undefined> {
  const folder = isZip ? `${target}.partial` : target;
  // A kill may have left a whole bundle that is not zipped yet.
  const whole = isZip ? finishedManifest(folder) : undefined;
  if (whole === undefined) checkFolder(folder);
  const lock = lockExport(folder);
  let manifest: Manifest | undefined;
  try {
    manifest = whole ?? (await exportTo(folder, wanted));
    if (manifest !== undefined && isZip) await zipFolder(folder, target);
  } finally {
    lock.release();
  }
  if (manifest !== undefined && isZip) rmSync(folder, { recursive: true });
  return manifest;
}

interface Wanted {
  readonly invocation: Output | Invocation;
  readonly named: string | undefined;
  readonly options: ExportOptions;
  readonly verifier: string;
}

/** Returns undefined when the person interrupts it. */
async function exportTo(
  folder: string,
  { invocation, named, options, verifier }: Wanted,
): Promise<Manifest | undefined> {
  const output: Output = invocation;
  const source =
    'client' in invocation
      ? await openServer(invocation, options)
      : openLog(resolve(named ?? output.terminal.env['COUNTERSIGN_DATA'] ?? './data'), options, output);
  const progress = createPartProgress(output);
  try {
    return await exportBundle(portsOf({ source, folder, verifier, output, progress }));
  } finally {
    progress.clear();
    source.close();
  }
}

/** The log that is exported. */
interface ExportSource extends Pick<ExportPorts, 'plan' | 'eventsAfter' | 'timestamps'> {
  readonly close: () => void;
}

async function openServer({ client, terminal }: Invocation, options: ExportOptions): Promise<ExportSource> {
  const { plan, eventsAfter, timestamps } = await readServerLog(client, terminal.interrupted, options);
  return { plan: () => plan, eventsAfter, timestamps, close: () => undefined };
}

function openLog(folder: string, options: ExportOptions, output: Output): ExportSource {
  if (!existsSync(join(folder, 'events.db'))) {
    throw usageError(
      `There is no log in ${folder}.`,
      'Name a data folder, set COUNTERSIGN_DATA, or give the address of a server.',
    );
  }
  const data = openDataFolder(folder);
  return {
    plan: () => planOf(data, options, output),
    eventsAfter: data.eventsAfter,
    timestamps: (tenant) => stampsOf(data, tenant),
    close: data.close,
  };
}

/** Those that can be read. */
function* stampsOf(data: DataFolder, tenant: string): Iterable<ExportedStamp> {
  for (const { epoch, size, read } of data.timestamps(tenant)) {
    const stamp = read();
    if (stamp !== undefined) yield { epoch, size, ...stamp };
  }
}

interface Export {
  readonly source: ExportSource;
  readonly folder: string;
  readonly verifier: string;
  readonly output: Output;
  readonly progress: PartProgress;
}

function portsOf({ source, folder, verifier, output, progress }: Export): ExportPorts {
  return {
    folder,
    plan: source.plan,
    eventsAfter: source.eventsAfter,
    ...(source.timestamps && { timestamps: source.timestamps }),
    newest: anchorsIn,
    documents: (manifest) => documentsOf(manifest, verifier),
    onProgress: progress.show,
    interrupted: output.terminal.interrupted,
  };
}

function planOf(source: DataFolder, { tenant: named, values, pending }: ExportOptions, output: Output): BundlePlan {
  const tenant = tenantOf(source.tenants(), named);
  const kept = anchorsIn(source.keptNotes(tenant)).filter(({ anchor }) => isOfTenant(anchor, tenant));
  const last = source.timestamps(tenant).at(-1);
  const notes = pending === true ? newestOfEach(kept) : newestOfEach(withoutPending(kept, output));
  return {
    tenant,
    values,
    size: notes[0]?.anchor.size ?? null,
    head: source.total,
    notes: notes.map(({ note }) => note),
    keyChanges: source.keyChanges(tenant),
    ...(last && { lastStamp: { epoch: last.epoch, size: last.size } }),
  };
}

/** The tenant whose log is exported. @throws CliError where it must be named, or has no event */
function tenantOf(tenants: readonly string[], named: string | undefined): string {
  const tenant = named ?? tenants[0] ?? 'default';
  if (named === undefined && tenants.length > 1) {
    throw usageError(
      `The log has several tenants, among them "${tenant}" and "${tenants[1] ?? ''}".`,
      'Name --tenant.',
    );
  }
  if (tenants.length > 0 && !tenants.includes(tenant)) {
    throw usageError(`The log has no event of the tenant "${tenant}".`, 'Name another --tenant.');
  }
  return tenant;
}

interface KeptNote {
  readonly anchor: Anchor;
  readonly note: string;
}

/** A bundle has one checkpoint of each epoch. */
function newestOfEach(kept: readonly KeptNote[]): readonly KeptNote[] {
  return kept.filter((one, at) => kept.findIndex(({ anchor }) => anchor.epoch === one.anchor.epoch) === at);
}

/** Leaves out the newest checkpoint where one before it, of the same epoch, has the quorum of the witnesses. */
function withoutPending(kept: readonly KeptNote[], output: Output): readonly KeptNote[] {
  const [newest, ...others] = kept;
  const cosigned = others.find(({ anchor }) => anchor.origin === newest?.anchor.origin);
  if (newest === undefined || cosigned === undefined) return kept;
  const later = newest.anchor.size - cosigned.anchor.size;
  output.note(
    `The bundle ends with the newest checkpoint that has the quorum of the witnesses. ` +
      `The newest one of all has ${String(later)} more events: --pending takes it.`,
  );
  return others;
}

function anchorsIn(notes: readonly string[]) {
  return notes.flatMap((note) => (readAnchors(note) ?? []).map((anchor) => ({ anchor, note })));
}

function interrupted(output: Output): ExitCode {
  output.note('Interrupted. The same command continues the export.');
  return exitCodes.interrupted;
}

function tell(output: Output, path: string, { tenant, origin, range, commitments, checkpoint }: Manifest): void {
  output.printJson({ path, tenant, origin, range, commitments });
  output.print({
    text: `${printable(path)}: ${String(range.size)} events of tenant "${printable(tenant)}".`,
    tone: 'green',
  });
  if (commitments > 0) {
    const words = 'have values in clear, so their content is left out (--values clear shows it).';
    output.print({ text: `  ${String(commitments)} of them ${words}` });
  }
  if (checkpoint === null) {
    output.print({ text: '  The log has no signed checkpoint: nothing in the bundle can be proven.', tone: 'yellow' });
  }
}

interface PartProgress {
  readonly show: (part: ExportPart, done: number, total: number) => void;
  readonly clear: () => void;
}

/** One line for each part of an export. */
function createPartProgress(output: Output): PartProgress {
  let [part, progress]: [ExportPart | undefined, Progress | undefined] = [undefined, undefined];
  return {
    show: (next, done, total) => {
      if (next !== part) progress = createProgress(output, total, next);
      part = next;
      progress?.show(done, done);
    },
    clear: () => progress?.clear(),
  };
}
