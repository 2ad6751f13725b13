import type { EventStore, Subscription } from '@countersign/event-store';
import type { ReadModel } from '@countersign/read-model';
import type { Log } from '@countersign/runtime';

/** What the projector stands on. */
export interface ProjectorPorts {
  readonly store: EventStore;
  readonly readModel: ReadModel;
  readonly log: Log;
}

/** Whether the read model follows the log. */
export type ProjectorHealth =
  | { readonly status: 'starting' }
  | { readonly status: 'ok' }
  /** It stopped, and says why: reads would grow stale, so the process must not call itself ready. */
  | { readonly status: 'failed'; readonly why: string };

/** Keeps the read model at the head of the log. */
export interface Projector {
  /** Settles once everything recorded so far is projected; rejects when that fails. */
  readonly start: () => Promise<void>;
  readonly stop: () => Promise<void>;
  readonly health: () => ProjectorHealth;
}

/** A projector that folds the log, from the read model's own checkpoint on. */
export function createProjector({ store, readModel, log }: ProjectorPorts): Projector {
  let health: ProjectorHealth = { status: 'starting' };
  let subscription: Subscription | undefined;

  const start = (): Promise<void> =>
    new Promise((resolve, reject) => {
      const from = readModel.checkpoint();
      subscription = store.subscribe(from, {
        onEvents: (events) => {
          readModel.apply(events);
        },
        onCaughtUp: () => {
          if (health.status === 'starting') log.debug({ from, to: readModel.checkpoint() }, 'read model caught up');
          health = { status: 'ok' };
          resolve();
        },
        onError: (error) => {
          health = { status: 'failed', why: error instanceof Error ? error.message : String(error) };
          log.error({ error, checkpoint: readModel.checkpoint() }, 'the read model cannot follow the log');
          reject(error instanceof Error ? error : new Error(String(error)));
        },
      });
    });

  return { start, stop: async () => subscription?.stop(), health: () => health };
}
