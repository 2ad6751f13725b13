import type { Commands } from '@countersign/commands';
import type { EventStore } from '@countersign/event-store';
import type { ReadModel } from '@countersign/read-model';
import type { Clock, Ids, Log } from '@countersign/runtime';
import type { ReadinessCheck } from '@countersign/shell';
import type { IdempotencyStore } from './idempotency.js';
import type { GatewayMetrics } from './metrics.js';
import type { Tokens } from './tokens.js';
import type { Tracing } from './tracing.js';

/** What the gateway stands on. It writes through `commands` alone. */
export interface GatewayPorts {
  readonly commands: Commands;
  readonly readModel: ReadModel;
  readonly store: EventStore;
  readonly tokens: Tokens;
  readonly idempotency: IdempotencyStore;
  readonly metrics: GatewayMetrics;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Beside the event store and the projection: what else must be well before `/readyz` says so. */
  readonly checks?: readonly ReadinessCheck[];
  /** Off by default. */
  readonly tracing?: Tracing;
}
