import type { Finding, Hash } from '@countersign/audit';
import type { StoredEvent } from '@countersign/contracts';

/** A fault in the bytes of an event, or in its place. */
export type Damage = Pick<Finding, 'check' | 'detail'>;

/** One event of a log that is verified, and the damage that reading it found. */
export interface SourceEvent {
  /** Undefined where there is damage and no event. */
  readonly stored: StoredEvent | undefined;
  readonly damage: readonly Damage[];
  /** How much of the source is read, in its own unit. */
  readonly done: number;
}

/** A log that can be verified. */
export interface LogSource {
  /** The tenant of its first event; undefined for an empty log. */
  readonly tenant: () => Promise<string | undefined>;
  readonly events: () => AsyncIterable<SourceEvent>;
  /** All of the source, in the unit of `done`. */
  readonly total: number;
  /** Whether the source stores a hash of each event. */
  readonly hasStore: boolean;
  /** The newest checkpoint of each epoch that is kept with the log, the latest epoch first. */
  readonly keptNotes: (tenant: string) => readonly string[];
  /** The leaves of the tree that is kept with the log; undefined where there is none. */
  readonly leaves: (tenant: string) => ((index: number) => Hash | undefined) | undefined;
  readonly close: () => void;
}
