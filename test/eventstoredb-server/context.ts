import type { FaultSwitch } from './faults.ts';
import type { ServerLog } from './log.ts';
import type { Membership } from './members.ts';
import type { Rights } from './rights.ts';

/** A subscription that is open on the server. */
export interface LiveSubscription {
  /** Something was written. */
  readonly wake: () => void;
  /** Ends it as a server does that sheds a slow reader. */
  readonly drop: () => void;
}

/** The shared state of the services. */
export interface ServerContext {
  readonly log: ServerLog;
  readonly faults: FaultSwitch;
  /** Every call in order, `Service/Method`. */
  readonly calls: string[];
  readonly subscriptions: Set<LiveSubscription>;
  /** The server's wall clock. */
  readonly now: () => number;
  readonly port: () => number;
  readonly membership: Membership;
  /** The appends that are not committed yet: a duplicate of one is dropped. */
  readonly onTheirWay: Set<string>;
  readonly rights: Rights;
}
