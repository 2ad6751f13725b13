import type { ChannelsConfig } from '@countersign/channels';
import type { CommandPorts } from '@countersign/commands';
import type { EventStore } from '@countersign/event-store';
import type { ReadModel } from '@countersign/read-model';
import type { Clock, Ids, Log } from '@countersign/runtime';
import type { ReadinessCheck, Tracing } from '@countersign/shell';
import type { IdempotencyStore } from './idempotency.js';
import type { Oidc } from './inbox/oidc.js';
import type { Sessions } from './inbox/sessions.js';
import type { GatewayMetrics } from './metrics.js';
import type { Tokens } from './tokens.js';

/** What the gateway stands on. It writes through `commands` alone. */
export interface GatewayPorts {
  readonly commands: CommandPorts;
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
  /** Of people at the web inbox; without them nobody signs in there. */
  readonly sessions?: Sessions;
  /** The provider that proves people and programs beside the tokens. */
  readonly oidc?: Oidc | undefined;
  /** The channels whose answers come back here; by default none. */
  readonly channels?: ChannelsConfig | undefined;
  /** Of one principal; default 5,000. */
  readonly requestsPerSecond?: number | undefined;
  /** Off by default. */
  readonly tracing?: Pick<Tracing, 'requestStarted'> | undefined;
}
