import { sleep } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';

/** Elects one of several notaries, as the exclusive progress of the message bus does. */
export interface Turns {
  /** Resolves when this one is elected. @throws the signal's reason when that aborts first */
  readonly take: (
    signal: AbortSignal,
  ) => Promise<{ readonly ended: AbortSignal; readonly release: () => Promise<void> }>;
}

/** The dependencies of a lead. */
export interface LeadPorts {
  /** Undefined: there is no other notary. */
  readonly turns: Turns | undefined;
  readonly clock: Clock;
  readonly log: Log;
  readonly signal: AbortSignal;
  /** This notary is the active one from now on. */
  readonly onActive: () => void;
}

/**
 * Which of several notaries signs. For a moment two may believe that they do: what each keeps in the store then decides, so
 * that no checkpoint contradicts another.
 */
export interface Lead {
  readonly isActive: () => boolean;
  /** Why it is not known which one signs. */
  readonly problem: () => string | undefined;
  /** Stands by, and leads when no other does, until the signal aborts. */
  readonly run: () => Promise<void>;
}

const retakeMs = 1_000;

/** A candidate. */
export function createLead({ turns, clock, log, signal, onActive }: LeadPorts): Lead {
  let isActive = turns === undefined;
  let problem: string | undefined;
  const leadOnce = async (from: Turns): Promise<void> => {
    const turn = await from.take(signal);
    [isActive, problem] = [true, undefined];
    log.info({}, 'this notary is active');
    try {
      onActive();
      await aborted(AbortSignal.any([turn.ended, signal]));
    } finally {
      isActive = false;
      await turn.release().catch((error: unknown) => {
        log.warn({ error }, 'the leadership could not be released; it ends by timeout');
      });
    }
    if (!signal.aborted) log.warn({}, 'another notary has taken over; this one is on standby');
  };
  return {
    isActive: () => isActive,
    problem: () => problem,
    run: async () => {
      const isOver = (): boolean => signal.aborted;
      while (turns !== undefined && !isOver()) {
        try {
          await leadOnce(turns);
        } catch (error) {
          if (isOver()) return;
          problem = error instanceof Error ? error.message : String(error);
          log.error({ error }, 'the notary cannot stand by; it is tried again');
          await sleep(clock, retakeMs, signal);
        }
      }
    },
  };
}

function aborted(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) resolve();
    else signal.addEventListener('abort', () => resolve(), { once: true });
  });
}
