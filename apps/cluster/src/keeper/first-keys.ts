import type { EventStore } from '@countersign/event-store';
import type { Log } from '@countersign/runtime';

const why =
  'these keys are new, and the log has events that were recorded without them: set COUNTERSIGN_KEEPER_URL for all processes and start ' +
  'them again, before one of them records a sensitive value. A process without the keeper ends at the first encrypted value, and ' +
  'cannot start again without it';

/** Says, before the first key is lent, what becomes of processes that record without keys. */
export async function tellOfFirstKeys(store: Pick<EventStore, 'readAll'>, log: Pick<Log, 'warn'>): Promise<void> {
  const [event] = await store.readAll(0, 1);
  if (event !== undefined) log.warn({}, why);
}
