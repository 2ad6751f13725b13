import type { EventStore, Subscription } from '@countersign/event-store';
import type { ReadModel } from '@countersign/read-model';
import type { Clock, Log } from '@countersign/runtime';

/** The dependencies of the projector. */
export interface ProjectorPorts {
  readonly store: EventStore;
  readonly readModel: ReadModel;
  readonly clock: Clock;
  readonly log: Log;
}

/** The state of the projector: whether the read model follows the log. */
export type ProjectorHealth =
  | { readonly status: 'starting' }
  | { readonly status: 'ok' }
  /** It cannot read the log or write its file. It reports why and retries; the process is not ready meanwhile. */
  | { readonly status: 'failed'; readonly why: string };

/** Keeps the read model at the head of the log. */
export interface Projector {
  /** Settles once everything recorded so far is projected; rejects when that fails. */
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
  readonly health: () => ProjectorHealth;
}

const retryMs = 500;

/**
 * A projector that applies the log from the read model's own checkpoint. When the file cannot be written, for example
 * on a full disk, it continues in memory and recovers once the file is writable.
 */
export function createProjector({ store, readModel, clock, log }: ProjectorPorts): Projector {
  let health: ProjectorHealth = { status: 'starting' };
  let subscription: Subscription | undefined;
  let following: 'no' | 'yes' | 'stopped' = 'no';
  let isKept = true;
  let cancelTimer: (() => void) | undefined;

  const failed = (error: unknown): void => {
    health = { status: 'failed', why: error instanceof Error ? error.message : String(error) };
    log.error({ error, checkpoint: readModel.checkpoint() }, 'the read model cannot follow the log');
  };

  const follow = (onCaughtUp: () => void, onError: (error: unknown) => void): void => {
    const from = readModel.checkpoint();
    following = 'yes';
    subscription = store.subscribe(from, {
      onEvents: (events) => {
        readModel.apply(events);
      },
      onCaughtUp: () => {
        if (health.status === 'starting') log.debug({ from, to: readModel.checkpoint() }, 'read model caught up');
        if (isKept) health = { status: 'ok' };
        onCaughtUp();
      },
      onError: (error) => {
        if (following === 'stopped') return;
        following = 'no';
        failed(error);
        onError(error);
      },
    });
  };

  const mendLater = (): void => {
    if (following !== 'stopped') cancelTimer ??= clock.setTimer(retryMs, mend);
  };
  const mend = (): void => {
    cancelTimer = undefined;
    try {
      readModel.flush();
      isKept = true;
    } catch (error) {
      isKept = false;
      failed(error);
      mendLater();
    }
    if (following === 'no') follow(() => undefined, mendLater);
    else if (isKept) health = { status: 'ok' };
  };

  return {
    start: () =>
      new Promise((resolve, reject) => {
        let isStarted = false;
        const started = (): void => {
          isStarted = true;
          resolve();
        };
        follow(started, (error) => {
          if (isStarted) mendLater();
          else reject(error instanceof Error ? error : new Error(String(error)));
        });
      }),
    stop: async () => {
      following = 'stopped';
      cancelTimer?.();
      await subscription?.stop();
    },
    health: () => health,
  };
}
