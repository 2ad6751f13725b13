import type { Clock, Ids, Log } from '@countersign/runtime';
import type { Tracing } from '../tracing/tracing.js';

/** The ports that a process gets from outside. */
export interface RuntimePorts {
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** The exporter of request spans; without it none are made. */
  readonly tracing?: Tracing | undefined;
}
