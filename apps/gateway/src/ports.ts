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

/** Further readiness checks, besides the event store and the projection. */
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
  /** Sign-in at the web inbox; without it no person can sign in there. */
  readonly checks?: readonly ReadinessCheck[];
  /** The OIDC provider, in addition to the tokens. */
  readonly sessions?: Sessions;
  /** The channels whose responses arrive here. Default: none. */
  readonly oidc?: Oidc | undefined;
  /** Per principal. Default: 5,000. */
  readonly channels?: ChannelsConfig | undefined;
  /** The definition of one route. */
  readonly requestsPerSecond?: number | undefined;
  /** Off by default. */
  readonly tracing?: Pick<Tracing, 'requestStarted'> | undefined;
}
