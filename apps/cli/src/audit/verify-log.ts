import { createVerification, isOfTenant, readAnchors, readKeyChanges, tenantOf } from '@countersign/audit';
import type { Anchor, CheckName, KnownIds, KnownStreams, Verification } from '@countersign/audit';
import type { StoredEvent } from '@countersign/contracts';
import { usageError } from '../cli-error.js';
import type { ExitCode } from '../exit-codes.js';
import { exitCodes } from '../exit-codes.js';
import type { Output } from '../invocation.js';
import type { Terminal } from '../terminal.js';
import { eachEvent } from './each-event.js';
import { boundedChanges, unverifiedChange } from './key-change-lines.js';
import type { LogSource, SourceEvent } from './log-source.js';
import { createProgress } from './progress.js';
import type { Progress } from './progress.js';
import { compareStamps } from './timestamps.js';
import type { JudgeStamp, KeptStamp, OpenJudge } from './timestamps.js';
import { ofTenant, readKeys, readPolicy, readSince } from './trust.js';
import { createVerifyReport } from './verify-report.js';

/** The options of `countersign audit verify`. */
export interface VerifyOptions {
  readonly vkey?: string;
  /** A policy of C2SP's tlog-policy. */
  readonly policy?: string;
  /** For tiles at an address. Default: `COUNTERSIGN_TOKEN`. */
  readonly token?: string;
  readonly since?: string;
  readonly tenant?: string;
  readonly from?: string;
  readonly to?: string;
  readonly all?: boolean;
  /** A PEM file with the roots of the authorities whose time stamps are trusted. */
  readonly tsaCa?: string;
  /** A log without such a time stamp is a finding. */
  readonly requireTimestamp?: boolean;
}

/** Where the result of a verification goes. */
export interface VerifyOutput extends Pick<Output, 'json' | 'print' | 'printJson'> {
  readonly terminal: Pick<Terminal, 'env' | 'stderr' | 'now' | 'interrupted'>;
}

/** A verification: what is verified, and where its judge remembers streams. */
export interface VerifyRun {
  readonly output: VerifyOutput;
  readonly options: VerifyOptions;
  readonly streams: KnownStreams;
  readonly ids: KnownIds;
  /** Absent: the source has no time stamps. */
  readonly openJudge?: OpenJudge;
  readonly openSource: () => LogSource | Promise<LogSource>;
}

/** Checks a log against what the auditor kept, and its events against the rules. @throws CliError when it cannot be read */
export async function verifyLog({
  output,
  options,
  streams,
  ids,
  openJudge,
  openSource,
}: VerifyRun): Promise<ExitCode> {
  const [keys, policy] = [readKeys(options.vkey), readPolicy(options.policy)];
  checkPeriod(options);
  const kept = readSince(options.since);
  const source = await openSource();
  const progress = createProgress(output, source.total, 'events');
  const report = createVerifyReport(output, options.all === true);
  try {
    const tenant = options.tenant ?? (await source.tenant()) ?? 'default';
    const since = ofTenant(kept, tenant);
    const signed = keptAnchors(source, tenant);
    const leaves = source.leaves(tenant);
    const stamps = stampsOf(source, tenant);
    const verification = createVerification({
      ...{ keys, policy, changes: signed.changes, since, kept: signed.anchors },
      sizes: stamps.map(({ size }) => size),
      ...{ storedLeaf: leaves, streams, ids, onFinding: report.onFinding },
      isJudged: (recordedAt) => isBetween(recordedAt, options),
    });
    for (const detail of signed.unreadable) verification.note({ check: 'tree', detail });
    const run = { output, source, verification, streams, tenant, mayHaveOthers: options.tenant !== undefined };
    if (!(await readAll(run, progress))) return exitCodes.interrupted;
    progress.clear();
    const { epoch } = signed;
    const { requireTimestamp: isRequired } = options;
    const judge = await judgeOf(stamps, openJudge);
    const stamped = compareStamps({ stamps, tenant, epoch, verification, judge, isRequired });
    const end = verification.end();
    const anchors = since.length + signed.anchors.length;
    const unproven = [...end.unproven, ...stamped.unproven, ...(source.unproven?.() ?? [])];
    const checks: readonly CheckName[] = [
      ...(['read', 'order', 'legal', 'digest', 'policy'] as const),
      ...source.checks,
      ...optionally('signature', (keys.length > 0 || policy !== undefined) && anchors > 0),
      ...optionally('tree', signed.anchors.length > 0 || leaves !== undefined),
      ...optionally('since', since.length > 0),
    ];
    report.end({ ...end, unproven, tenant }, checks, '', stamped.proven);
    return end.exit;
  } finally {
    progress.clear();
    source.close();
  }
}

function stampsOf({ timestamps }: LogSource, tenant: string): readonly KeptStamp[] {
  return timestamps === undefined ? [] : timestamps(tenant);
}

/** Most logs have no time stamp, and what reads one takes long to load. */
async function judgeOf(stamps: readonly KeptStamp[], openJudge?: OpenJudge): Promise<JudgeStamp | undefined> {
  return stamps.length === 0 ? undefined : openJudge?.();
}

/** Attack: a period that has no time in it, so that no event is judged by itself. */
function checkPeriod({ from, to }: VerifyOptions): void {
  if (from === undefined || to === undefined || from < to) return;
  throw usageError('--from is not before --to, so no event would be judged.', 'Name a time that has events.');
}

function optionally(check: CheckName, isChecked: boolean): readonly CheckName[] {
  return isChecked ? [check] : [];
}

function keptAnchors(source: LogSource, tenant: string) {
  const notes = source.keptNotes(tenant);
  const anchors = notes.map((note) => onlyAnchor(note, tenant)).filter((anchor) => anchor !== undefined);
  const lines = boundedChanges('The source', source.keyChanges?.(tenant) ?? []);
  const changes = readKeyChanges(lines);
  const unreadable = [
    ...(anchors.length < notes.length ? ['a checkpoint that is kept with the log cannot be read'] : []),
    ...(changes.length < lines.length ? [unverifiedChange] : []),
  ];
  return { anchors, unreadable, changes, epoch: anchors[0]?.epoch };
}

/** Attack: the checkpoint of another log after the honest one, which a person reads. */
function onlyAnchor(note: string, tenant: string): Anchor | undefined {
  const [anchor, ...more] = readAnchors(note) ?? [];
  return anchor !== undefined && more.length === 0 && isOfTenant(anchor, tenant) ? anchor : undefined;
}

/** Times as they are stored sort as texts. */
function isBetween(recordedAt: string, { from, to }: VerifyOptions): boolean {
  return (from === undefined || recordedAt >= from) && (to === undefined || recordedAt < to);
}

interface Run {
  readonly output: VerifyOutput;
  readonly source: LogSource;
  readonly verification: Verification;
  readonly streams: KnownStreams;
  readonly tenant: string;
  /** The auditor chose one tenant of several. */
  readonly mayHaveOthers: boolean;
}

/** Returns false when the person stopped it. */
function readAll(run: Run, progress: Progress): Promise<boolean> {
  const { output, source, verification } = run;
  return eachEvent(source.events(), output.terminal.interrupted, (event) => {
    takeEvent(run, event);
    progress.show(verification.size(), event.done);
    return true;
  });
}

function takeEvent(run: Run, event: SourceEvent): void {
  const { source, verification, tenant } = run;
  const { stored, entry, entryText, damage } = event;
  const named = stored ?? entry;
  const place = named === undefined ? {} : { eventId: named.eventId, stream: named.stream };
  for (const one of damage) verification.note({ ...place, ...one });
  if (stored === undefined) {
    if (entry !== undefined) verification.commit(entry);
    return;
  }
  const owner = source.isOfOneTenant === true ? tenant : tenantOf(stored);
  if (owner === undefined) verification.note({ check: 'read', detail: 'its metadata name no tenant', ...place });
  else if (owner === tenant) judge(verification, stored, entryText);
  else passOver(run, stored, owner);
}

/** An event of another tenant. Attack: the end of a call, such as its run, is put into a log that no auditor looks at. */
function passOver(
  { verification, streams, tenant, mayHaveOthers }: Run,
  { eventId, stream }: StoredEvent,
  owner: string,
) {
  if (!mayHaveOthers) {
    throw usageError(`The log has several tenants, among them "${tenant}" and "${owner}".`, 'Name one with --tenant.');
  }
  if (streams.get(stream) === undefined) return;
  const detail = `its stream is one of the tenant "${tenant}", and it says "${owner}"`;
  verification.note({ check: 'order', detail, eventId, stream });
}

function judge(verification: Verification, stored: StoredEvent, entry: string | undefined): void {
  if (entry === undefined) verification.take(stored);
  else verification.takeWithEntry(stored, entry);
}
