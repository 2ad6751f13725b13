import type { LogEvent } from '@countersign/contracts';

/** The part of an event store that the embedded bus needs: reading its log. */
export interface LogReader {
  /** At most `limit` events after a position (exclusive), in order. */
  readonly readAll: (after: number, limit: number) => Promise<readonly LogEvent[]>;
  /** Everything after a position (exclusive), first recorded, then live; see the event store's port. */
  readonly subscribe: (
    after: number,
    handler: {
      readonly onEvents: (events: readonly LogEvent[]) => void | Promise<void>;
      readonly onError: (error: unknown) => void;
    },
  ) => { readonly stop: () => Promise<void> };
}
