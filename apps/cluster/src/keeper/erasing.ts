import { randomUUID } from 'node:crypto';
import { EventStoreUnavailableError } from '@countersign/event-store';
import type { RequestsKey, FileKeys } from '@countersign/event-store';
import { sleep } from '@countersign/runtime';
import { createBegunErasures } from './begun-erasures.js';
import type { BegunPorts } from './begun-erasures.js';
import type { Version } from './protocol.js';
import type { Sessions } from './sessions.js';

/** The dependencies of erasures at the keeper. */
export interface ErasingPorts extends BegunPorts {
  readonly keys: FileKeys;
  readonly requestsKey: RequestsKey;
  readonly sessions: Sessions;
}

/** The changes of the keys, each of which the processes confirm. */
export interface Erasing {
  readonly version: () => Version;
  /** Resolves with the ids when no process can use the keys of the subject for new values any more. */
  readonly retire: (tenant: string, subject: string) => Promise<readonly string[]>;
  readonly begin: (ids: readonly string[]) => void;
  /** `tidy` takes them back at once if the log has no proof of them: another process may have recorded one. */
  readonly giveUp: (ids: readonly string[]) => void;
  /**
   * Destroys keys, once the log has the proof of their erasure, and no process has them or a copy of their values.
   * @throws EventStoreUnavailableError when there is no proof.
   */
  readonly finish: (ids: readonly string[]) => Promise<void>;
  /**
   * The log was read up to this position and has the proof of these erasures: the values under these keys read as erased
   * from now on.
   */
  readonly recorded: (ids: readonly string[], position: number) => void;
  /**
   * Destroys the keys whose erasure is recorded. Takes back erasures that were begun and are not recorded although there
   * was time: after the log was read up to an end that it had after this time.
   * @throws EventStoreUnavailableError when the end of the log cannot be read: nothing was taken back.
   */
  readonly tidy: () => Promise<void>;
}

/** How far the keeper may be behind a proof that a process has just recorded. */
const proofMsMax = 10_000;
const stepMs = 50;

/** Erasures over the keys of the keeper's folder. */
export function createErasing({ keys, requestsKey, sessions, clock, loanMs, head }: ErasingPorts): Erasing {
  const epoch = randomUUID();
  const begun = createBegunErasures({ head, clock, loanMs });
  const ending = new Map<string, Promise<void>>();
  const proven = new Set<string>();
  let number = 1;
  let erased = keys.erasedKeys();

  const changed = (): number => {
    erased = keys.erasedKeys();
    number += 1;
    sessions.changed(number);
    return number;
  };
  const isLeft = (id: string): boolean => keys.findForCopies(id) !== undefined;
  const begin = (ids: readonly string[]): void => {
    const left = ids.filter(isLeft);
    keys.beginErasing(left);
    begun.begin(left);
    if (keys.erasedKeys() !== erased) changed();
  };
  // Attack: a process asks to destroy keys whose values remain. It cannot write the proofs: they are in the log.
  const untilProven = async (ids: readonly string[]): Promise<void> => {
    const endsAt = clock.monotonic() + proofMsMax;
    while (ids.some((id) => isLeft(id) && !proven.has(id))) {
      if (clock.monotonic() >= endsAt) {
        throw new EventStoreUnavailableError(
          'the log has no proof of this erasure that the keeper can see, so no key was destroyed: once it is there, the keeper destroys them by itself',
        );
      }
      await sleep(clock, stepMs);
    }
  };
  const destroy = async (ids: readonly string[]): Promise<void> => {
    await sessions.confirmed('rewritten', number);
    await requestsKey.renew();
    keys.forgetOldCopies();
    keys.destroy(ids);
    changed();
  };
  const finish = async (ids: readonly string[]): Promise<void> => {
    await untilProven(ids);
    const left = ids.filter((id) => isLeft(id) && !ending.has(id));
    if (left.length > 0) {
      const running = destroy(left).finally(() => {
        for (const id of left) ending.delete(id);
      });
      for (const id of left) ending.set(id, running);
    }
    const underWay = ids.flatMap((id) => ending.get(id) ?? []);
    // An earlier erasure may have left the bytes of its key in the log of keys.db.
    if (underWay.length === 0) keys.destroy([]);
    await Promise.all(underWay);
    for (const id of ids.filter((id) => !isLeft(id))) {
      begun.forget(id);
      proven.delete(id);
    }
  };
  const unproven = (): readonly string[] => keys.erasing().filter((id) => !proven.has(id) && !ending.has(id));
  // Attack: the keeper lags behind the log, so it does not see a proof. A key that it took back would be lent again.
  const takeBack = async (): Promise<void> => {
    const withoutProof = new Set(await begun.withoutProof(unproven()));
    const taken = unproven().filter((id) => withoutProof.has(id));
    if (taken.length === 0) return;
    keys.keep(taken);
    changed();
  };
  const destroyProven = async (): Promise<void> => {
    const left = [...proven].filter((id) => !ending.has(id));
    if (left.length > 0) await finish(left);
  };
  return {
    version: () => ({ epoch, number, erased }),
    retire: async (tenant, subject) => {
      const ids = keys.retire(tenant, subject);
      if (ids.length > 0) await sessions.confirmed('dropped', changed());
      return ids;
    },
    begin,
    giveUp: (ids) => {
      begun.giveUp(unproven().filter((id) => ids.includes(id)));
    },
    finish,
    recorded: (ids, position) => {
      const left = ids.filter(isLeft);
      if (left.length > 0) {
        for (const id of left) proven.add(id);
        begin(left);
      }
      begun.followed(position);
    },
    tidy: async () => {
      await Promise.all([takeBack(), destroyProven()]);
    },
  };
}
