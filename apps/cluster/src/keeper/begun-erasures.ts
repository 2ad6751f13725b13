import { EventStoreRewoundError } from '@countersign/event-store';
import type { Clock } from '@countersign/runtime';

/** The dependencies of the begun erasures. */
export interface BegunPorts {
  /** The position of the last event in the log. */
  readonly head: () => Promise<number>;
  readonly clock: Clock;
  readonly loanMs: number;
}

/** The erasures that were begun and have no proof yet. */
export interface BegunErasures {
  readonly begin: (ids: readonly string[]) => void;
  /** The process that began them says that it does not record them. */
  readonly giveUp: (ids: readonly string[]) => void;
  readonly forget: (id: string) => void;
  /** All proofs up to this position are known. */
  readonly followed: (position: number) => void;
  /**
   * Returns those of the erasures that were given up, and that have no proof in the log: all of it was read up to an end
   * that it had after they were given up.
   * @throws EventStoreUnavailableError when the end of the log cannot be read.
   */
  readonly withoutProof: (ids: readonly string[]) => Promise<readonly string[]>;
}

interface Begun {
  readonly atMs: number;
  /** The end of the log, read after the erasure was given up. */
  head?: number;
}

/** After so many loans, a begun erasure that is not recorded was given up. */
const loansOfBegun = 2;

/** The begun erasures; those that an earlier keeper knew count from now. */
export function createBegunErasures({ head, clock, loanMs }: BegunPorts): BegunErasures {
  const startedAtMs = clock.monotonic();
  const begun = new Map<string, Begun>();
  let position = 0;
  const add = (id: string, atMs: number): Begun => {
    const added = { atMs };
    begun.set(id, added);
    return added;
  };
  const find = (id: string): Begun => begun.get(id) ?? add(id, startedAtMs);
  const isGivenUp = ({ atMs }: Begun): boolean => clock.monotonic() - atMs > loansOfBegun * loanMs;
  const readHead = async (): Promise<number> => {
    const known = position;
    const end = await head();
    if (end >= known) return end;
    throw new EventStoreRewoundError(
      `the log ends at ${end}, before position ${known} that the keeper has read: it was put back to an older state, so no erasure is taken back`,
    );
  };
  return {
    begin: (ids) => {
      for (const id of ids) add(id, clock.monotonic());
    },
    giveUp: (ids) => {
      for (const id of ids) add(id, -Infinity);
    },
    forget: (id) => begun.delete(id),
    followed: (reached) => {
      position = reached;
    },
    withoutProof: async (ids) => {
      const unknown = ids.map(find).filter((one) => isGivenUp(one) && one.head === undefined);
      if (unknown.length > 0) {
        const end = await readHead();
        for (const one of unknown) one.head = end;
      }
      return ids.filter((id) => {
        const one = find(id);
        return isGivenUp(one) && one.head !== undefined && one.head <= position;
      });
    },
  };
}
