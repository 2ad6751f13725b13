import type { Clock, Ids, Log } from '@countersign/runtime';
import type { Tracing } from '../tracing/tracing.js';

/** What the outside world gives to a process. */
export interface RuntimePorts {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Where the spans of requests go; none are made without. */
  readonly tracing?: Tracing | undefined;
}
