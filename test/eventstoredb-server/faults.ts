/** The faults of a writing call. */
export type AppendFault =
  /** Accepts the call and never responds; nothing is written. */
  | 'hang'
  /** Writes, and never responds. */
  | 'write-then-hang'
  /** Ends the call with UNAVAILABLE before or after the write, so the client cannot tell which. */
  | 'cut'
  | 'write-then-cut'
  /** Accepts the call, and ends it cleanly with neither success nor failure. */
  | 'half-close'
  | 'not-leader'
  /** The status of a batch append carries no details. */
  | 'no-details'
  | 'timeout'
  | 'busy'
  | 'not-ready'
  | 'access-denied'
  | 'stream-deleted'
  | 'internal'
  | 'cancelled'
  /** Recognises no repeat. */
  | 'forgetful';

/** The faults of a read. */
export type ReadFault = 'hang' | 'hang-midway' | 'unavailable' | 'not-leader' | 'access-denied' | 'stream-deleted';

/** The server's faults; none by default. */
export interface Faults {
  readonly append?: AppendFault;
  readonly read?: ReadFault;
  readonly features?: 'hang' | 'internal' | 'unimplemented';
  readonly gossip?: 'hang' | 'unavailable';
  /**
   * For new subscriptions: refused; confirmed and then silent; never reporting that they caught up; starting too early.
   */
  readonly subscriptions?: 'refused' | 'silent' | 'without-caught-up' | 'from-the-start';
  /** How many calls the faults above affect. Default: all. */
  readonly times?: number;
  readonly latencyMs?: number;
  /**
   * How long a write takes to commit. The same append meanwhile is dropped, and its caller gets a commit timeout after
   * `dropMs` (default 2 s, as measured on a real server).
   */
  readonly commitMs?: number;
  readonly dropMs?: number;
  /** Its responses have no `Date` header, as behind a proxy that removes it. */
  readonly undated?: boolean;
  /** How far the server's clock is ahead of this machine's. */
  readonly clockAheadMs?: number;
  /** The largest append; default 1 MiB, as up to version 25.0. */
  readonly maxAppendBytes?: number;
  /** The address that `not-leader` sends the client to. */
  readonly leader?: { readonly host: string; readonly port: number };
}

/** The faults in force. */
export interface FaultSwitch {
  readonly current: () => Faults;
  readonly set: (faults: Faults) => void;
  /** The fault of that kind for the call at hand, counted. */
  readonly take: <K extends 'append' | 'read' | 'features' | 'gossip' | 'subscriptions'>(
    kind: K,
  ) => NonNullable<Faults[K]> | undefined;
}

/** No fault until one is set. */
export function createFaultSwitch(): FaultSwitch {
  let faults: Faults = {};
  let left = Infinity;
  return {
    current: () => faults,
    set: (next) => {
      faults = next;
      left = next.times ?? Infinity;
    },
    take: (kind) => {
      if (faults[kind] === undefined || left <= 0) return undefined;
      left -= 1;
      return faults[kind];
    },
  };
}
