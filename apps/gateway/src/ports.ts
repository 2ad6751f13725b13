import type { ChannelsConfig, PeopleNow } from '@countersign/channels';
import type { CommandPorts } from '@countersign/commands';
import type { UnreadableStream } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';
import type { ReadModel } from '@countersign/read-model';
import type { Clock, Ids, Log } from '@countersign/runtime';
import type { ReadinessCheck, Receipts, Tracing } from '@countersign/shell';
import type { Erasures } from './erasure-port.js';
import type { LogCheckpoints } from './log-checkpoints.js';
import type { LogPublic, LogTiles } from './log-tiles.js';
import type { IdempotencyStore, RequestHash } from './idempotency.js';
import type { Oidc } from './inbox/oidc.js';
import type { RecordOfUse } from './record-of-use.js';
import type { Sessions } from './inbox/sessions.js';
import type { GatewayMetrics } from './metrics.js';
import type { Tokens } from './tokens.js';

/** The dependencies of the gateway. It writes only through `commands`. */
export interface GatewayPorts {
  readonly commands: CommandPorts;
  readonly readModel: ReadModel;
  readonly store: EventStore;
  /** The log as it is stored, with sensitive values encrypted. Default: `store`. */
  readonly sealedLog?: Pick<EventStore, 'readStream' | 'readAll' | 'sound'> | undefined;
  /** True once stored events were found to be damaged: pages of the log say so. Default: never. */
  readonly isLogDamaged?: (() => boolean) | undefined;
  /** The streams that this process found to be set aside. Default: those of the read model. */
  readonly unreadable?: (() => readonly UnreadableStream[]) | undefined;
  readonly tokens: Tokens;
  readonly idempotency: IdempotencyStore;
  /** Hashes requests with an idempotency key. Default: without a key. */
  readonly requestHash?: (() => RequestHash) | undefined;
  /** Erases the values of a subject. Default: refused, as in a cluster. */
  readonly erasures?: Erasures | undefined;
  /** The signed checkpoints of the log. Default: refused, as in a gateway that knows no notary. */
  readonly checkpoints?: LogCheckpoints | undefined;
  /** The tree over the log. Default: refused. */
  readonly tiles?: LogTiles | undefined;
  /** What of the tree is open without a token. Default: nothing. */
  readonly logPublic?: LogPublic | undefined;
  /** The receipts of claims. Default: claims have none. */
  readonly receipts?: Receipts | undefined;
  readonly metrics: GatewayMetrics;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
  /** Further readiness checks, besides the event store and the projection. */
  readonly checks?: readonly ReadinessCheck[];
  /** Sign-in at the web inbox; without it no person can sign in there. */
  readonly sessions?: Sessions;
  /** The OIDC provider, in addition to the tokens. */
  readonly oidc?: Oidc | undefined;
  /** The channels whose responses arrive here. Default: none. */
  readonly channels?: ChannelsConfig | undefined;
  /** The people of the channels. Default: those of the channels file. */
  readonly people?: PeopleNow | undefined;
  /** Who signed in and who looked, for the log of record. Default: it is not recorded. */
  readonly use?: RecordOfUse | undefined;
  /** Records the address that a person answered from. Default: no. */
  readonly recordsAddresses?: boolean | undefined;
  /** Per principal. Default: 5,000. */
  readonly requestsPerSecond?: number | undefined;
  /** Off by default. */
  readonly tracing?: Pick<Tracing, 'requestScope' | 'requestStarted'> | undefined;
}
