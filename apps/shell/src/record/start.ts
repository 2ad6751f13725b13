import { isDeepStrictEqual } from 'node:util';
import { systemStream } from '@countersign/contracts';
import { EventStoreDamagedError, isStoreOutage } from '@countersign/event-store';
import type { Log } from '@countersign/runtime';
import type { ReadinessCheck } from '../http/health.js';
import { commit } from '../process/commit.js';
import { version } from '../process/version.js';
import type { ChangedKeys } from './recorded.js';
import { processTenant } from './system-log.js';
import type { SystemEventBody, SystemLog } from './system-log.js';

/** What a process says of itself at its start. */
export interface StartedProcess {
  readonly role: string;
  /** The digests of its configuration files by what they configure; null: there is none. */
  readonly files: Readonly<Record<string, string | null>>;
  /** The digest of the root key, where the process has it. */
  readonly rootKey?: string | undefined;
  /** The start must be recorded before anything else, because the audit judges the records of this role by it. Default: false. */
  readonly isJudgedBy?: boolean;
}

/**
 * Records the start, and a root key that is another one than at the start before; later, where the store cannot be written
 * now, because a process with a full disk still serves reads.
 */
export async function noteStart(
  system: SystemLog,
  { role, files, rootKey, isJudgedBy = false }: StartedProcess,
): Promise<void> {
  const { rootKey: before } = await system.recorded(processTenant);
  const digests = { ...files, rootKey: rootKey ?? null };
  const known = Object.entries(digests).flatMap(([name, digest]) => (digest === null ? [] : [[name, digest]]));
  // Not when it is recorded, which may be later: the audit compares it with the questions that silence approved.
  const startedAt = system.now();
  const started = (): SystemEventBody => ({
    type: 'ProcessStarted',
    data: {
      ...{ role, version, commit },
      files: Object.fromEntries(known) as Record<string, string>,
      startedAt,
    },
  });
  await (isJudgedBy ? system.record(processTenant, started()) : recordOrNote(system, started));
  if (rootKey === undefined || before === undefined || before === rootKey) return;
  await recordOrNote(system, () => ({
    type: 'KeysRotated',
    data: { before, after: rootKey, rotatedAt: system.now() },
  }));
}

const lostEndRemedy =
  'tools of the missing calls may have run: compare with the systems that they changed, and then say that you know: ' +
  'countersign audit continue --reason TEXT';

/** Where the log ends, and what was known of it before. */
export interface AcceptedEnd {
  /** The last position that was known. */
  readonly known: number;
  readonly end: number;
  /** The newest checkpoint that was signed of the tenant's log, a note; undefined: there is none. */
  readonly checkpoint: string | undefined;
}

/**
 * Records that the log goes on without events that were known. Each start warns of it until a person says that they know.
 */
export async function noteAcceptedEnd(
  system: SystemLog,
  { known, end, checkpoint }: AcceptedEnd,
  log: Log,
): Promise<void> {
  if (known > end) {
    const named = checkpoint === undefined ? {} : { checkpoint };
    await recordOrNote(system, () => ({
      type: 'LogEndAccepted',
      data: { from: known, to: end, ...named, acceptedAt: system.now() },
    }));
  }
  const { lostEnd } = await system.recorded(processTenant);
  if (lostEnd !== undefined) log.warn({ ...lostEnd, remedy: lostEndRemedy }, 'the log has lost its end');
}

/** Says that the log has lost its end, until a person says that they know. The process is ready: it goes on with what is left. */
export function createLogEndCheck(system: Pick<SystemLog, 'recorded'>): ReadinessCheck {
  return {
    name: 'log-end',
    check: async () => {
      const { lostEnd } = await system.recorded(processTenant);
      if (lostEnd === undefined) return { status: 'ok' };
      const { from, to, isRestored } = lostEnd;
      const missing =
        isRestored === true
          ? restoredNote(from, to)
          : from > to
            ? `the events after position ${String(to)} up to ${String(from)} are missing`
            : `the log, which ended at position ${String(to)}, contradicts what was signed of it`;
      return { status: 'ok', note: `${missing}: ${lostEndRemedy}` };
    },
  };
}

function restoredNote(from: number, to: number): string {
  const lost = from > to ? `, and the events up to ${String(from)} are missing` : '';
  return `the log was restored from a backup that ends at position ${String(to)}${lost}. People are asked about every new call until a person says that they know`;
}

async function recordOrNote(system: SystemLog, event: () => SystemEventBody): Promise<void> {
  try {
    await system.record(processTenant, event());
  } catch (error) {
    if (!isStoreOutage(error) && !(error instanceof EventStoreDamagedError)) throw error;
    system.note(processTenant, event);
  }
}

/**
 * Records in the log of a tenant why it goes on as its next epoch, unless that is recorded of this checkpoint. Returns where the event is.
 * @throws as the store
 */
export async function recordAcceptedEnd(
  system: SystemLog,
  tenant: string,
  { known, end, checkpoint, why }: AcceptedEnd & { readonly checkpoint: string; readonly why: string },
): Promise<{ readonly stream: string; readonly revision: number }> {
  for (;;) {
    const { contradicted } = await system.recorded(tenant);
    if (contradicted?.checkpoint === checkpoint) {
      return { stream: systemStream(tenant, system.processId), revision: contradicted.revision };
    }
    const positions = { from: Math.max(known, end, 1), to: end };
    await system.record(tenant, {
      type: 'LogEndAccepted',
      data: { ...positions, checkpoint, why, acceptedAt: system.now() },
    });
  }
}

/** Records a change of the key that signs a tenant's log, unless it is what this process recorded last. @throws as the store */
export async function recordLogKey(
  system: SystemLog,
  tenant: string,
  keys: ChangedKeys,
): Promise<{ readonly stream: string; readonly revision: number }> {
  for (;;) {
    const { logKey } = await system.recorded(tenant);
    if (logKey !== undefined && isDeepStrictEqual(logKey.keys, keys)) {
      return { stream: systemStream(tenant, system.processId), revision: logKey.revision };
    }
    await system.record(tenant, { type: 'LogKeyChanged', data: { ...keys, changedAt: system.now() } });
  }
}
