import { EventStoreUnavailableError } from '@countersign/event-store';
import { sleep } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import type { Confirmed } from './protocol.js';

/** The confirmations of a process of the cluster. */
interface Session {
  askedAt: number;
  endsAt: number;
  dropped: number;
  rewritten: number;
  progress: number;
  /** The newest version that its answers have told. */
  told: number;
  /** Since when it has not confirmed the newest version, and since when it makes no progress towards it. */
  behind: { readonly since: number; still: number } | undefined;
  isExcluded: boolean;
}

/** The processes that may have keys. */
export interface Sessions {
  /**
   * The keeper answers the process now. Returns how long its loan lasts from here on, in whole milliseconds.
   * @throws EventStoreUnavailableError when it did not confirm a change in time: it gets nothing.
   */
  readonly touch: (id: string) => number;
  readonly confirm: (id: string, confirmed: Omit<Confirmed, 'epoch'>) => void;
  /** The keys have a new version, which each process has to confirm. */
  readonly changed: (version: number) => void;
  readonly leave: (id: string) => void;
  readonly count: () => number;
  /** Resolves when each process has confirmed this version, or its loans have ended. */
  readonly confirmed: (part: 'dropped' | 'rewritten', version: number) => Promise<void>;
}

interface SessionsPorts {
  readonly loanMs: number;
  readonly stopping: AbortSignal;
  readonly log: Pick<Log, 'warn'>;
}

const stepMs = 50;
/** For clocks that do not run alike: the process counts its loan from before this one does. */
const marginMs = 250;
/** A process that writes its copies again may take longer than a loan, as long as it makes progress. */
const loansOfCopies = 10;

/**
 * The sessions of a keeper. Those of the keeper that ran before are unknown, and their loans may last as long as if they had
 * asked just before this start.
 *
 * The attack: a session asks on and never confirms, so that an erasure waits without end. Its loan is not prolonged beyond one
 * loan without progress. After that it gets nothing until it has confirmed what it was told.
 */
export function createSessions(clock: Clock, { loanMs, stopping, log }: SessionsPorts): Sessions {
  const sessions = new Map<string, Session>();
  const startedAt = clock.monotonic();
  const unknownUntil = startedAt + loanMs + marginMs;
  let newest = 1;

  const open = (id: string, now: number): Session => {
    // It may have keys of the keeper before, as long as those loans last. Later, a new session has none.
    const known = now < unknownUntil ? 0 : newest;
    const none = { askedAt: now, endsAt: 0, told: 0, progress: 0, isExcluded: false };
    const behind = known < newest ? { since: now, still: now } : undefined;
    const session: Session = { ...none, dropped: known, rewritten: known, behind };
    sessions.set(id, session);
    return session;
  };
  const isLate = ({ behind }: Session, now: number): boolean =>
    behind !== undefined && (now >= behind.still + loanMs || now >= behind.since + loansOfCopies * loanMs);
  const exclude = (id: string, session: Session): void => {
    session.isExcluded = true;
    const { dropped, rewritten } = session;
    log.warn(
      { session: id, dropped, rewritten, version: newest },
      'a process asks for keys and does not confirm a change of them within its loan: it gets no keys, and no erasure waits for it',
    );
  };
  /** Forgets sessions whose loans have ended. Those that were excluded are remembered while they ask. */
  const tidy = (now: number): void => {
    for (const [id, session] of sessions) {
      const { behind, askedAt, endsAt } = session;
      const asksOn = behind !== undefined && askedAt > behind.since;
      if (!session.isExcluded && asksOn && isLate(session, now)) exclude(id, session);
      const until = session.isExcluded ? Math.max(endsAt, askedAt + loansOfCopies * loanMs) : endsAt;
      if (until <= now) sessions.delete(id);
    }
  };
  const find = (id: string, now: number): Session => {
    const session = sessions.get(id);
    if (session === undefined) return open(id, now);
    const { isExcluded, endsAt, dropped, told } = session;
    // Its loan has ended, so it has neither keys nor copies that can be read: as if it were new.
    return isExcluded && endsAt <= now && dropped >= told ? open(id, now) : session;
  };
  return {
    touch: (id) => {
      const now = clock.monotonic();
      tidy(now);
      const session = find(id, now);
      session.askedAt = now;
      if (session.isExcluded) {
        throw new EventStoreUnavailableError(
          'this process did not confirm a change of the keys within its loan, so it gets none: if this goes on, start it again',
        );
      }
      const { behind } = session;
      const endsAt = Math.min(
        now + loanMs,
        ...(behind === undefined ? [] : [behind.still + loanMs, behind.since + loansOfCopies * loanMs]),
      );
      session.endsAt = endsAt + marginMs;
      session.told = newest;
      return Math.floor(endsAt - now);
    },
    confirm: (id, { dropped, rewritten, progress }) => {
      const session = sessions.get(id);
      if (session === undefined) return;
      const isFurther = dropped > session.dropped || rewritten > session.rewritten || progress !== session.progress;
      session.dropped = Math.max(session.dropped, dropped);
      session.rewritten = Math.max(session.rewritten, rewritten);
      session.progress = progress;
      if (session.dropped >= newest && session.rewritten >= newest) session.behind = undefined;
      else if (session.behind !== undefined && isFurther) session.behind.still = clock.monotonic();
    },
    changed: (version) => {
      newest = version;
      const now = clock.monotonic();
      for (const session of sessions.values()) session.behind ??= { since: now, still: now };
    },
    leave: (id) => void sessions.delete(id),
    count: () => {
      tidy(clock.monotonic());
      return [...sessions.values()].filter(({ endsAt }) => endsAt > clock.monotonic()).length;
    },
    confirmed: async (part, version) => {
      const isWaiting = (): boolean => {
        const now = clock.monotonic();
        tidy(now);
        if (now < unknownUntil) return true;
        return [...sessions.values()].some((session) => session.endsAt > now && session[part] < version);
      };
      while (isWaiting()) {
        stopping.throwIfAborted();
        await sleep(clock, stepMs, stopping);
      }
    },
  };
}
