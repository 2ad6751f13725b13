import { isReadable } from '@countersign/contracts';
import type { SubjectEvent } from '@countersign/contracts';
import { findLostKeys, lockFolder, openRequestsKey, openSubjectKeys } from '@countersign/event-store';
import type { EventStore, LostKeys } from '@countersign/event-store';
import { makeFolderOf, sleep } from '@countersign/runtime';
import { createGauges, createKeysCheck } from '@countersign/shell';
import { openKeeperApp } from '../keeper/keeper-app.js';
import { createKeeper } from '../keeper/keeper.js';
import { tellOfFirstKeys } from '../keeper/first-keys.js';
import { createErasing } from '../keeper/erasing.js';
import type { Erasing } from '../keeper/erasing.js';
import { createSessions } from '../keeper/sessions.js';
import type { KeysConfig, RoleConfig } from '../config.js';
import { followLog } from '../follow-log.js';
import { openRecord } from '../record.js';
import { isStoreAway, openRawStore, untilDone } from '../role-process.js';
import type { OpenRole, RoleProcess } from '../role-process.js';

/** Lends the keys of its folder to the other processes of the cluster. */
export function readKeeper({ keys: inFolder, keeperServer }: RoleConfig): Promise<OpenRole> {
  if (inFolder === null || keeperServer === null) throw new Error('the keeper has no configuration of its keys');
  return Promise.resolve(async (process) => {
    const { config, clock, log, registry, stopping, onStop, check } = process;
    lock(process, inFolder);
    const raw = await openRawStore(process);
    const keys = openSubjectKeys({ ...inFolder, log });
    onStop(keys.close);
    const requestsKey = await openRequestsKey(keys);
    const { loanMs } = keeperServer;
    const sessions = createSessions(clock, { loanMs, stopping, log });
    const erasing = createErasing({ keys, requestsKey, sessions, clock, loanMs, head: raw.head });
    const keeper = createKeeper({ keys, sessions, erasing });
    const gauge = createGauges(registry);
    gauge('countersign_keeper_sessions', 'Processes that may have keys.', sessions.count);
    gauge('countersign_keeper_keys_lent', 'Keys that were lent since the start.', keeper.keysLent);
    // Before a key is lent: an older backup of the keys has those of erased values, and lacks those made since.
    await followErasures(process, raw, erasing, findLostKeys(keys, { ...inFolder, log }));
    if (keys.isNew) await untilDone(process, 'keys', isStoreAway, () => tellOfFirstKeys(raw, log));
    const app = await openKeeperApp({ ...keeper, version: erasing.version }, log, {
      ...keeperServer,
      host: config.host,
    });
    onStop(app.close);
    check(createKeysCheck(keys.lost));
    check({ name: 'keeper', check: () => ({ status: 'ok', note: 'lends keys' }) });
    void tidyUp(process, erasing);
    // Nothing that borrows keys waits for it.
    await openRecord(process, raw);
  });
}

/** One keeper for a folder: another one would not know of the processes that have keys from this one. */
function lock({ onStop }: RoleProcess, { folder }: KeysConfig): void {
  makeFolderOf('COUNTERSIGN_KEYS_FOLDER', folder);
  onStop(lockFolder(folder, 'the folder of the keys').release);
}

const tidyEveryMs = 1000;

/**
 * Reads the proofs of erasures in the log, from its beginning and without end. Resolves when all recorded ones are known.
 * @throws LostKeysError when the log names keys that are lost.
 */
async function followErasures(
  process: RoleProcess,
  raw: EventStore,
  { recorded }: Pick<Erasing, 'recorded'>,
  lostKeys: LostKeys,
): Promise<void> {
  let isCaughtUp = false;
  await followLog(process, 'erasures', raw, {
    onEvents: (events) => {
      if (!isCaughtUp) lostKeys.look(events);
      recorded(erasedKeysOf(events), events.at(-1)?.position ?? 0);
    },
  });
  isCaughtUp = true;
  lostKeys.end();
}

async function tidyUp({ clock, log, stopping }: RoleProcess, { tidy }: Pick<Erasing, 'tidy'>): Promise<void> {
  while (!stopping.aborted) {
    void tidy().catch((error: unknown) => {
      if (!stopping.aborted) log.error({ error }, 'an erasure could not be finished: it is tried again');
    });
    await sleep(clock, tidyEveryMs, stopping);
  }
}

/** The keys that the proofs among these events name. */
function erasedKeysOf(events: Awaited<ReturnType<EventStore['readAll']>>): readonly string[] {
  return events
    .filter(isReadable)
    .flatMap(({ type, data }) => (type === 'SubjectErased' ? (data as SubjectEvent['data']).keys : []));
}
