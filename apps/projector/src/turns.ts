import type { EventType } from '@countersign/contracts';
import type { CallInTurn, ReadModel } from '@countersign/read-model';
import { sideBySide } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';

/** The dependencies of the turns. */
export interface TurnsPorts {
  readonly readModel: Pick<ReadModel, 'firstInQueueOf' | 'turnsToTake' | 'onApplied'>;
  /**
   * Records that the turn of a call has come, or that `endedBy` has ended its run; harmless to repeat. Null: it is held by an event
   * that cannot be read.
   */
  readonly takeTurn: (turn: CallInTurn) => Promise<number | null>;
  readonly clock: Pick<Clock, 'setTimer'>;
  readonly log: Log;
}

/** Gives sequential calls their turn, one after another in their run. */
export interface Turns {
  readonly start: () => void;
  readonly stop: () => Promise<void>;
}

/** The events after which a call waits for its turn, or is settled. */
const concerning: ReadonlySet<string> = new Set<EventType>([
  ...(['ToolCallQueued', 'ToolCallBlocked', 'ToolCallCancelled', 'ApprovalResponded'] as const),
  ...(['ApprovalExpired', 'ApprovalLapsed', 'ExecutionSucceeded', 'ExecutionFailed'] as const),
  ...(['ExecutionOutcomeUnknown', 'ExecutionReconciled'] as const),
]);

const atOnce = 64;
const retryMs = 1000;
/** Nothing tells when an event can be read after all. */
const heldMs = 5000;

interface ChangedCall {
  readonly tenant: string;
  readonly callId: string;
}

/**
 * Follows the read model. After each change of a sequential call the first call of its queue that is not settled gets its
 * turn. The order is that of the log, so two of these processes never disagree about it: each may be late, and what one
 * has recorded is nothing to do for the other. At the start it looks at all queues, in case a process crashed in between.
 */
export function createTurns(ports: TurnsPorts): Turns {
  const turns = new TurnTaker(ports);
  let stopListening: () => void = () => undefined;
  return {
    start: () => {
      stopListening = ports.readModel.onApplied(({ events }) => {
        // It may end that calls wait for one that cannot be read.
        if (events.some(({ type }) => type === 'RunCancelled')) turns.lookAtAll();
        for (const { type, metadata } of events) {
          const { tenant, callId } = metadata;
          if (tenant !== null && callId !== null && concerning.has(type)) turns.changed(tenant, callId);
        }
      });
      turns.lookAtAll();
    },
    stop: () => {
      stopListening();
      return turns.stop();
    },
  };
}

class TurnTaker {
  readonly #ports: TurnsPorts;
  /** By call: what was applied since the last look. */
  #changed = new Map<string, ChangedCall>();
  #running: Promise<void> | undefined;
  #isStopped = false;
  #cancelTimer: () => void = () => undefined;

  constructor(ports: TurnsPorts) {
    this.#ports = ports;
  }

  changed(tenant: string, callId: string): void {
    this.#changed.set(callId, { tenant, callId });
    this.#run();
  }

  lookAtAll(): void {
    try {
      for (const { tenant, callId } of this.#ports.readModel.turnsToTake()) this.changed(tenant, callId);
    } catch (error) {
      this.#retry(error);
    }
  }

  async stop(): Promise<void> {
    this.#isStopped = true;
    this.#cancelTimer();
    await this.#running;
  }

  #run(): void {
    if (this.#isStopped || this.#running !== undefined) return;
    this.#running = this.#takeAll().finally(() => {
      this.#running = undefined;
    });
  }

  async #takeAll(): Promise<void> {
    // The listener of the read model returns first.
    await Promise.resolve();
    while (this.#changed.size > 0 && !this.#isStopped) {
      const calls = [...this.#changed.values()];
      this.#changed = new Map();
      await sideBySide(calls, atOnce, (call) => this.#take(call));
    }
  }

  async #take({ tenant, callId }: ChangedCall): Promise<void> {
    const { readModel, takeTurn } = this.#ports;
    try {
      const first = readModel.firstInQueueOf(tenant, callId);
      if (first?.waits === true && (await takeTurn(first)) === null) this.#lookAgain(heldMs);
    } catch (error) {
      this.#retry(error);
    }
  }

  /** The whole of it, because the calls that failed are among those. */
  #retry(error: unknown): void {
    this.#ports.log.warn({ error }, 'the turn of a sequential call could not be recorded; retrying');
    this.#lookAgain(retryMs);
  }

  #lookAgain(afterMs: number): void {
    if (this.#isStopped) return;
    this.#cancelTimer();
    this.#cancelTimer = this.#ports.clock.setTimer(afterMs, () => {
      this.lookAtAll();
    });
  }
}
