import type { RecordedEvent } from '@countersign/contracts';

/** What the embedded bus needs of an event store: to read its log. */
export interface LogReader {
  /** At most `limit` events after a position (exclusive), in order. */
  readonly readAll: (after: number, limit: number) => Promise<readonly RecordedEvent[]>;
  /** Everything after a position (exclusive), first what is recorded, then live; see the event store's port. */
  readonly subscribe: (
    after: number,
    handler: {
      readonly onEvents: (events: readonly RecordedEvent[]) => void | Promise<void>;
      readonly onError: (error: unknown) => void;
    },
  ) => { readonly stop: () => Promise<void> };
}
