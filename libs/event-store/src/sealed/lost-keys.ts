import { join } from 'node:path';
import { isReadable } from '@countersign/contracts';
import type { LogEvent, SubjectEvent } from '@countersign/contracts';
import type { Log } from '@countersign/runtime';
import type { EventStore } from '../event-store.js';
import type { FileKeys } from './keys-file.js';

/** The log has values whose keys are not in `keys.db`. */
export class LostKeysError extends Error {
  override readonly name = 'LostKeysError';
}

/** The folder of the keys, and whether the operator has given lost values up. */
export interface KeysPlace {
  readonly folder: string;
  readonly acceptLostKeys: boolean;
  readonly log: Log;
}

/** The search for keys that the log names and `keys.db` does not have. */
export interface LostKeys {
  /** Looks at events as they are stored, in the order of the log. */
  readonly look: (events: readonly LogEvent[]) => void;
  /**
   * Ends the search. From then on `keys.db` belongs to the log.
   * @throws LostKeysError when keys are lost and the operator has not accepted it.
   */
  readonly end: () => void;
}

type Keys = Pick<FileKeys, 'isNew' | 'confirm' | 'isKnown' | 'markErased' | 'acceptLoss' | 'setCheckedTo'>;

/** A search whose events begin where `keys.db` was checked last, or earlier. */
export function findLostKeys(keys: Keys, place: KeysPlace): LostKeys {
  const missing = new Map<string, number>();
  const erased = new Set<string>();
  let last: LogEvent | undefined;
  return {
    look: (events) => {
      // What an event that cannot be read names proves nothing about the keys.
      for (const { type, data, position, metadata } of events.filter(isReadable)) {
        const id = metadata.sealed?.key;
        if (id !== undefined && !missing.has(id) && !keys.isKnown(id)) missing.set(id, position);
        if (type === 'SubjectErased') for (const key of (data as SubjectEvent['data']).keys) erased.add(key);
      }
      last = events.at(-1) ?? last;
    },
    end: () => {
      const lost = [...missing].filter(([id]) => !erased.has(id));
      if (lost.length > 0 && !place.acceptLostKeys) throw lostKeys(keys, place, lost);
      keys.markErased([...erased]);
      keys.acceptLoss(lost.map(([id]) => id));
      if (lost.length > 0) place.log.warn({ keys: lost.length }, 'keys are lost, and that was accepted');
      if (keys.isNew) keys.confirm();
      if (last !== undefined) keys.setCheckedTo(last);
    },
  };
}

function lostKeys(
  { isNew }: Pick<Keys, 'isNew'>,
  { folder }: KeysPlace,
  lost: readonly (readonly [id: string, position: number])[],
): LostKeysError {
  const file = join(folder, 'keys.db');
  const [[id, position] = ['', 0]] = lost;
  const cause = isNew
    ? `${file} is missing, and the log has values that were encrypted with its keys: restore keys.db and the root key from your copy`
    : `${file} is older than the log, or of another log: it lacks ${String(lost.length)} keys of encrypted values, such as ${id} of position ${String(position)}. ` +
      'Restore the newest copy of keys.db that you have, and the root key that belongs to it';
  return new LostKeysError(`${cause}. To give those values up, start once with COUNTERSIGN_ACCEPT_LOST_KEYS=yes`);
}

const pageSize = 500;

/**
 * Compares `keys.db` with a log whose positions have no gaps, from where it was checked last.
 * @throws LostKeysError
 */
export async function refuseLostKeys(
  raw: Pick<EventStore, 'readAll'>,
  keys: Keys & Pick<FileKeys, 'checkedTo'>,
  place: KeysPlace,
): Promise<void> {
  const search = findLostKeys(keys, place);
  let position = await startOf(raw, keys);
  for (;;) {
    const page = await raw.readAll(position, pageSize);
    const last = page.at(-1);
    if (last === undefined) break;
    search.look(page);
    position = last.position;
  }
  search.end();
}

/** Where the log was checked to; its beginning when it is another log by now. */
async function startOf(raw: Pick<EventStore, 'readAll'>, keys: Pick<FileKeys, 'checkedTo'>): Promise<number> {
  const checked = keys.checkedTo();
  if (checked === undefined) return 0;
  const [event] = await raw.readAll(checked.position - 1, 1);
  return event?.eventId === checked.eventId ? checked.position : 0;
}
