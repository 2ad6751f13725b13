import type { DueCall, ReadModel } from '@countersign/read-model';
import type { Clock, Log } from '@countersign/runtime';

/** What the deadlines stand on. */
export interface DeadlinesPorts {
  readonly readModel: Pick<ReadModel, 'due' | 'nextDueAt' | 'onApplied'>;
  /** Records what a call's deadline brings; null when, seen by its own stream, nothing is due. */
  readonly fireDue: (tenant: string, callId: string) => Promise<number | null>;
  readonly clock: Clock;
  readonly log: Log;
  /** How late a deadline was recorded, in ms. */
  readonly onFired?: (lagMs: number) => void;
}

/** Fires the deadlines of all calls: expiry, reminders, the end of the right to run, lapsed claims. */
export interface Deadlines {
  readonly start: () => void;
  readonly stop: () => Promise<void>;
}

const pageSize = 500;
/** The wall clock may jump and timers do not notice: while something is waiting, it is looked at this often. */
const recheckMsMax = 500;
const retryMs = 1000;

/**
 * One timer for the earliest deadline of all, out of the read model's sorted index: a hundred thousand pending approvals
 * cost as much as one. What is due is decided by each call's own stream, so being early, late or twice does no harm.
 */
export function createDeadlines({ readModel, fireDue, clock, log, onFired }: DeadlinesPorts): Deadlines {
  let status: 'idle' | 'waiting' | 'sweeping' | 'stopped' = 'idle';
  let armedFor: number | null = null;
  let cancelTimer: () => void = () => undefined;
  let stopListening: () => void = () => undefined;
  let sweeping: Promise<void> = Promise.resolve();
  /** Calls that were due by the view and not by their stream, or could not be written: not tried again before this time. */
  const deferred = new Map<string, number>();

  const arm = (): void => {
    if (status !== 'idle' && status !== 'waiting') return;
    const next = lookUp();
    if (next === undefined) return;
    // Somebody else's deadline moved: the timer that is set is still the right one.
    if (status === 'waiting' && next === armedFor) return;
    cancelTimer();
    armedFor = next;
    status = next === null ? 'idle' : 'waiting';
    if (next !== null) cancelTimer = clock.setTimer(Math.min(Math.max(0, next - clock.now()), recheckMsMax), onTimer);
  };

  /** The earliest deadline; undefined when it cannot be told now. The view writes before it answers, which a full disk prevents. */
  const lookUp = (): number | null | undefined => {
    try {
      return readModel.nextDueAt();
    } catch (error) {
      log.warn({ error }, 'the next deadline could not be looked up; it is tried again');
      waitThenArm();
      return undefined;
    }
  };

  const onTimer = (): void => {
    status = 'idle';
    if (armedFor === null || armedFor > clock.now()) {
      arm();
      return;
    }
    status = 'sweeping';
    sweeping = sweep()
      .catch((error: unknown) => {
        // As above; nothing else must end with it.
        log.warn({ error }, 'the deadlines could not be looked up; it is tried again');
        return 'failed' as const;
      })
      .then((outcome) => {
        if (status === 'stopped') return;
        status = 'idle';
        if (outcome === 'failed' || deferred.size > 0) waitThenArm();
        else arm();
      });
  };

  const waitThenArm = (): void => {
    cancelTimer();
    status = 'waiting';
    armedFor = 0;
    cancelTimer = clock.setTimer(retryMs, onTimer);
  };

  const sweep = async (): Promise<void> => {
    for (;;) {
      const now = clock.now();
      for (const [key, until] of deferred) if (until <= now) deferred.delete(key);
      const page = readModel.due(now, pageSize + deferred.size).filter((due) => !deferred.has(due.callId));
      if (page.length === 0 || stopped()) return;
      await Promise.all(page.map(fire));
    }
  };

  const stopped = (): boolean => status === 'stopped';

  const fire = async (due: DueCall): Promise<void> => {
    try {
      const position = await fireDue(due.tenant, due.callId);
      if (position === null) deferred.set(due.callId, clock.now() + retryMs);
      else onFired?.(Math.max(0, clock.now() - due.dueAt));
    } catch (error) {
      deferred.set(due.callId, clock.now() + retryMs);
      log.warn({ error, callId: due.callId }, 'a deadline could not be recorded; it is tried again');
    }
  };

  return {
    start: () => {
      stopListening = readModel.onApplied(arm);
      arm();
    },
    stop: async () => {
      status = 'stopped';
      stopListening();
      cancelTimer();
      await sweeping;
    },
  };
}
