import { sleep } from '@countersign/runtime';
import type { Clock } from '@countersign/runtime';
import type { Confirmed } from './protocol.js';

/** The confirmations of a process of the cluster. */
interface Session {
  endsAt: number;
  dropped: number;
  rewritten: number;
}

/** The processes that may have keys. */
export interface Sessions {
  /** The keeper answers the process now: its loans last from here on. */
  readonly touch: (id: string) => void;
  readonly confirm: (id: string, confirmed: Omit<Confirmed, 'epoch'>) => void;
  readonly leave: (id: string) => void;
  readonly count: () => number;
  /** Resolves when each process has confirmed this version, or its loans have ended. */
  readonly confirmed: (part: 'dropped' | 'rewritten', version: number) => Promise<void>;
}

const stepMs = 50;
/** For clocks that do not run alike: the process counts its loan from before this one does. */
const marginMs = 250;

/**
 * The sessions of a keeper. Those of the keeper that ran before are unknown, and their loans may last as long as if they had
 * asked just before this start.
 */
export function createSessions(
  clock: Clock,
  { loanMs, stopping }: { readonly loanMs: number; readonly stopping: AbortSignal },
): Sessions {
  const sessions = new Map<string, Session>();
  const endOfLoan = (): number => clock.monotonic() + loanMs + marginMs;
  const unknownUntil = endOfLoan();
  const sessionOf = (id: string): Session => {
    const known = sessions.get(id) ?? { endsAt: 0, dropped: 0, rewritten: 0 };
    sessions.set(id, known);
    return known;
  };
  const forgetEnded = (): void => {
    for (const [id, { endsAt }] of sessions) if (endsAt <= clock.monotonic()) sessions.delete(id);
  };
  return {
    touch: (id) => {
      forgetEnded();
      sessionOf(id).endsAt = endOfLoan();
    },
    confirm: (id, { dropped, rewritten }) => {
      const session = sessionOf(id);
      session.dropped = Math.max(session.dropped, dropped);
      session.rewritten = Math.max(session.rewritten, rewritten);
    },
    leave: (id) => void sessions.delete(id),
    count: () => {
      forgetEnded();
      return sessions.size;
    },
    confirmed: async (part, version) => {
      const isWaiting = (): boolean => {
        forgetEnded();
        if (clock.monotonic() < unknownUntil) return true;
        return [...sessions.values()].some((session) => session[part] < version);
      };
      while (isWaiting()) {
        stopping.throwIfAborted();
        await sleep(clock, stepMs, stopping);
      }
    },
  };
}
