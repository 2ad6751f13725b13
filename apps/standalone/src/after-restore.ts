import { restoreCall, restoreGrant } from '@countersign/commands';
import type { CommandPorts } from '@countersign/commands';
import { EventStoreDamagedError } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { readNewestCheckpoint } from '@countersign/notary';
import type { ReadModel } from '@countersign/read-model';
import { crashPoint } from '@countersign/runtime';
import type { Log } from '@countersign/runtime';
import { forgetRestored, readRestored, recordRestored, restoredWords } from '@countersign/shell';
import type { RestoredBackup, SystemLog } from '@countersign/shell';

/** The states in which a call could still run, or run again. */
const open = ['allowed', 'approved', 'executing', 'awaiting_approval'] as const;
const pageMax = 500;

/** What a start has to do where the folder was restored from a backup. */
export interface Restore {
  /** Where the log ends that is accepted as it is; null: it was not restored. */
  readonly end: number | null;
  /** Before anything else of the process works. The mark goes last, so a start that ends in between begins again. */
  readonly settle: (
    commands: CommandPorts,
    readModel: Pick<ReadModel, 'listCalls' | 'grants' | 'reached'>,
    store: Pick<EventStore, 'head'>,
  ) => Promise<void>;
}

/**
 * Records in the log of each tenant that it was restored, where `countersign restore` says so.
 * @throws EventStoreDamagedError when the log is not the restored one.
 */
export async function beginRestore(folder: string, end: number, system: SystemLog, log: Log): Promise<Restore> {
  const backup = readRestored(folder);
  if (backup === undefined) return { end: null, settle: () => Promise.resolve() };
  if (end < backup.end) {
    const ends = `ends at position ${String(end)} and not at ${String(backup.end)}`;
    throw new EventStoreDamagedError(`the restored log ${ends}: restore the backup again, into an empty folder`);
  }
  await recordRestored(system, backup, (tenant) => readNewestCheckpoint(folder, tenant));
  return {
    end,
    settle: async (commands, readModel, store) => {
      await readModel.reached(await store.head());
      const settled = await settleRestored(commands, readModel, backup);
      crashPoint('restored.settled');
      forgetRestored(folder);
      log.warn({ ...settled, end: backup.end, known: backup.known }, 'the log was restored from a backup');
    },
  };
}

/**
 * Takes the right to run from everything that was open in a restored log, before anything else of the process works: see
 * `restoreCall`. Standing grants end, because one may have been revoked or used up after the backup. A repeat does what is left.
 */
async function settleRestored(
  commands: CommandPorts,
  readModel: Pick<ReadModel, 'listCalls' | 'grants'>,
  backup: RestoredBackup,
): Promise<{ readonly calls: number; readonly grants: number }> {
  const restored = { end: backup.end, why: restoredWords(backup) };
  let [calls, grants] = [0, 0];
  for (const tenant of backup.tenants) {
    // All pages before the first change: what is handled leaves these states.
    for (const callId of openCalls(readModel, tenant)) {
      await restoreCall(commands, tenant, callId, restored);
      calls += 1;
    }
    for (const grantId of openGrants(readModel, tenant, commands.clock.now())) {
      await restoreGrant(commands, tenant, grantId, restored);
      grants += 1;
    }
  }
  return { calls, grants };
}

function openCalls(readModel: Pick<ReadModel, 'listCalls'>, tenant: string): readonly string[] {
  return allPages((cursor) => {
    const page = readModel.listCalls(tenant, { states: open, order: 'oldest', limit: pageMax, cursor });
    if (page.status !== 'page') throw new Error('a cursor of the read model must be valid');
    return { ids: page.rows.map(({ request }) => request.callId), nextCursor: page.nextCursor };
  });
}

function openGrants({ grants }: Pick<ReadModel, 'grants'>, tenant: string, atMs: number): readonly string[] {
  return (['active', 'pending'] as const).flatMap((state) =>
    allPages((cursor) => {
      const page = grants.list(tenant, { state, limit: pageMax, cursor }, atMs);
      if (page.status !== 'page') throw new Error('a cursor of the read model must be valid');
      return { ids: page.grants.map(({ terms }) => terms.grantId), nextCursor: page.nextCursor };
    }),
  );
}

function allPages(
  pageAfter: (cursor: string | undefined) => { readonly ids: readonly string[]; readonly nextCursor: string | null },
): readonly string[] {
  const all: string[] = [];
  let cursor: string | undefined;
  for (;;) {
    const { ids, nextCursor } = pageAfter(cursor);
    all.push(...ids);
    if (nextCursor === null) return all;
    cursor = nextCursor;
  }
}
