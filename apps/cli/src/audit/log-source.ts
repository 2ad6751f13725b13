import type { CheckName, Entry, Finding, Hash, Place } from '@countersign/audit';
import type { LogEventView, StoredEvent } from '@countersign/contracts';
import type { KeptStamp } from './timestamps.js';

/** A fault in the bytes of an event, or in its place. */
export type Damage = Pick<Finding, 'check' | 'detail'> & Partial<Pick<Place, 'index'>>;

/** One event of a log that is verified, and the damage that reading it found. */
export interface SourceEvent {
  /** Undefined where there is damage and no event, and for a commitment. */
  readonly stored: StoredEvent | undefined;
  /** The entry, where the source has one; without `stored` it is a commitment. */
  readonly entry?: Entry;
  /** The masked view of a commitment, where the source has one. */
  readonly view?: LogEventView;
  /** The entry as the tree has it. */
  readonly entryText?: string;
  readonly damage: readonly Damage[];
  /** How much of the source is read, in its own unit. */
  readonly done: number;
}

/** A log that can be verified. */
export interface LogSource {
  /** The tenant of its first event; undefined for an empty log. */
  readonly tenant: () => Promise<string | undefined>;
  readonly events: () => AsyncIterable<SourceEvent> | Iterable<SourceEvent>;
  /** All of the source, in the unit of `done`. */
  readonly total: number;
  /** The checks of the source itself: `store` where it has a hash of each event. */
  readonly checks: readonly CheckName[];
  /** The newest checkpoint of each epoch that is kept with the log, the latest epoch first, and the newest one with cosignatures. */
  readonly keptNotes: (tenant: string) => readonly string[];
  /** The changes of the log key that are kept with the log, each as a line of JSON. Absent: the source cannot have any. */
  readonly keyChanges?: (tenant: string) => readonly string[];
  /** The time stamps that are kept with the log, in the order of epochs and sizes. Absent: the source cannot have any. */
  readonly timestamps?: (tenant: string) => readonly KeptStamp[];
  /** The leaves of the tree that is kept with the log; undefined where there is none. */
  readonly leaves: (tenant: string) => ((index: number) => Hash | undefined) | undefined;
  /** True if its tree covers every event, so that all count as events of one tenant. Absent: false. */
  readonly isOfOneTenant?: boolean;
  /** Returns what else could not be proven. Call it after the last event. Absent: nothing. */
  readonly unproven?: () => readonly string[];
  readonly close: () => void;
}
