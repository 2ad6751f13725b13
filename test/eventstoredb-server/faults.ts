/** What goes wrong with a call that writes. */
export type AppendFault =
  /** Takes the call and never answers; nothing is written. */
  | 'hang'
  /** Writes, and never answers. */
  | 'write-then-hang'
  /** Ends the call with UNAVAILABLE before, or after, the write: the client cannot tell which. */
  | 'cut'
  | 'write-then-cut'
  /** Takes the call, and ends it cleanly with neither success nor failure. */
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

/** What goes wrong with a read. */
export type ReadFault = 'hang' | 'hang-midway' | 'unavailable' | 'not-leader' | 'access-denied' | 'stream-deleted';

/** What the server does wrong; everything is right by default. */
export interface Faults {
  readonly append?: AppendFault;
  readonly read?: ReadFault;
  readonly features?: 'hang' | 'internal' | 'unimplemented';
  readonly gossip?: 'hang' | 'unavailable';
  /** Of new subscriptions: refused; confirmed and then silent; never told that they have caught up; begun too early. */
  readonly subscriptions?: 'refused' | 'silent' | 'without-caught-up' | 'from-the-start';
  /** How many calls the faults above befall, all of them by default. */
  readonly times?: number;
  readonly latencyMs?: number;
  /**
   * How long a write takes until it is committed. The same append meanwhile is dropped, and its caller is told after
   * `dropMs` (default 2 s, as measured on a real server) that the commit timed out.
   */
  readonly commitMs?: number;
  readonly dropMs?: number;
  /** How far the server's clock is ahead of this machine's. */
  readonly clockAheadMs?: number;
  /** The largest append; default 1 MiB, as up to version 25.0. */
  readonly maxAppendBytes?: number;
  /** Where `not-leader` sends the client. */
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
