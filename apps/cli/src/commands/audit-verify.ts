import { existsSync, statSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { createVerification, isOfTenant, readAnchors, tenantOf } from '@countersign/audit';
import type { Anchor, CheckName, Verification } from '@countersign/audit';
import { openExportFile } from '../audit/export-file.js';
import type { LogSource, SourceEvent } from '../audit/log-source.js';
import { ofTenant, readKeys, readSince } from '../audit/trust.js';
import { createVerifyProgress } from '../audit/verify-progress.js';
import type { VerifyProgress } from '../audit/verify-progress.js';
import { createVerifyReport } from '../audit/verify-report.js';
import { usageError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Output } from '../invocation.js';
import { openDataFolder } from '../sqlite/data-folder.js';
import { createSpilledStreams } from '../sqlite/spilled-streams.js';

/** The options of `countersign audit verify`. */
export interface VerifyOptions {
  readonly vkey?: string;
  readonly since?: string;
  readonly tenant?: string;
  readonly from?: string;
  readonly to?: string;
  readonly all?: boolean;
}

/** `countersign audit verify`: checks a log against what the auditor kept, and its events against the rules. */
export async function verify(output: Output, named: string | undefined, options: VerifyOptions): Promise<ExitCode> {
  const keys = readKeys(options.vkey);
  const kept = readSince(options.since);
  const source = await openSource(named ?? output.terminal.env['COUNTERSIGN_DATA'] ?? './data');
  const streams = createSpilledStreams();
  const progress = createVerifyProgress(output, source.total);
  const report = createVerifyReport(output, options.all === true);
  try {
    const tenant = options.tenant ?? (await source.tenant()) ?? 'default';
    const since = ofTenant(kept, tenant);
    const signed = keptAnchors(source, tenant);
    const leaves = source.leaves(tenant);
    const verification = createVerification({
      ...{ keys, since, kept: signed.anchors, storedLeaf: leaves, streams, onFinding: report.onFinding },
      isJudged: (recordedAt) => isBetween(recordedAt, options),
    });
    for (const detail of signed.unreadable) verification.note({ check: 'tree', detail });
    const run = { output, source, verification, tenant, mayHaveOthers: options.tenant !== undefined };
    if (!(await readAll(run, progress))) return exitCodes.interrupted;
    progress.clear();
    const end = verification.end();
    const anchors = since.length + signed.anchors.length;
    report.end({ ...end, tenant }, [
      ...(['read', 'order', 'legal', 'digest', 'policy'] as const),
      ...optionally('store', source.hasStore),
      ...optionally('signature', keys.length > 0 && anchors > 0),
      ...optionally('tree', signed.anchors.length > 0 || leaves !== undefined),
      ...optionally('since', since.length > 0),
    ]);
    return end.exit;
  } finally {
    progress.clear();
    streams.close();
    source.close();
  }
}

function optionally(check: CheckName, isChecked: boolean): readonly CheckName[] {
  return isChecked ? [check] : [];
}

async function openSource(source: string): Promise<LogSource> {
  const path = resolve(source);
  const stats = existsSync(path) ? statSync(path) : undefined;
  if (stats?.isFile() === true) return openExportFile(path);
  if (stats !== undefined && existsSync(join(path, 'events.db'))) return openDataFolder(path);
  throw usageError(`There is no log in ${path}.`, 'Name a data folder or an export, or set COUNTERSIGN_DATA.');
}

function keptAnchors(source: LogSource, tenant: string) {
  const notes = source.keptNotes(tenant).map((note) => readAnchors(note)?.find((anchor) => isOfTenant(anchor, tenant)));
  const anchors = notes.filter((anchor): anchor is Anchor => anchor !== undefined);
  const unreadable = anchors.length < notes.length ? ['a checkpoint that is kept with the log cannot be read'] : [];
  return { anchors, unreadable };
}

/** Times as they are stored sort as texts. */
function isBetween(recordedAt: string, { from, to }: VerifyOptions): boolean {
  return (from === undefined || recordedAt >= from) && (to === undefined || recordedAt < to);
}

interface Run {
  readonly output: Output;
  readonly source: LogSource;
  readonly verification: Verification;
  readonly tenant: string;
  /** The auditor chose one tenant of several. */
  readonly mayHaveOthers: boolean;
}

/** Returns false when the person stopped it. */
async function readAll(run: Run, progress: VerifyProgress): Promise<boolean> {
  const { output, source, verification } = run;
  const { interrupted } = output.terminal;
  for await (const event of source.events()) {
    if (interrupted.aborted) return false;
    takeEvent(run, event);
    progress.show(verification.size(), event.done);
  }
  return true;
}

function takeEvent({ verification, tenant, mayHaveOthers }: Run, { stored, damage }: SourceEvent): void {
  const place = stored === undefined ? {} : { eventId: stored.eventId, stream: stored.stream };
  for (const one of damage) verification.note({ ...one, ...place });
  if (stored === undefined) return;
  const owner = tenantOf(stored);
  if (owner === undefined) {
    verification.note({ check: 'read', detail: 'its metadata name no tenant', ...place });
    return;
  }
  if (owner === tenant) {
    verification.take(stored);
    return;
  }
  if (mayHaveOthers) return;
  throw usageError(`The log has several tenants, among them "${tenant}" and "${owner}".`, 'Name one with --tenant.');
}
