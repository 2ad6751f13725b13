/** Certificates for TLS, in PEM. */
export interface KafkaTls {
  readonly ca?: string | Uint8Array | readonly (string | Uint8Array)[] | undefined;
  readonly cert?: string | Uint8Array | undefined;
  readonly key?: string | Uint8Array | undefined;
  readonly passphrase?: string | undefined;
  readonly servername?: string | undefined;
}

/** The worker's credentials for the brokers. */
export type KafkaSasl =
  | {
      readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
      readonly username: string;
      readonly password: string;
    }
  | {
      readonly mechanism: 'oauthbearer';
      readonly oauthBearerProvider: () => Promise<{ readonly value: string }>;
    };

/** A private `KeyObject` of `node:crypto`, told by its members: these types also work without those of Node. */
export interface SigningKey {
  readonly type: 'private' | 'public' | 'secret';
  readonly asymmetricKeyType?: string | undefined;
  readonly asymmetricKeyDetails?: object | undefined;
  readonly equals: (other: never) => boolean;
}

/** The key that requests are signed with, as the operator registered it in `COUNTERSIGN_REQUESTS_KEYS`. */
export interface RequestSigning {
  readonly kid: string;
  /** Ed25519 or P-256: PKCS #8 in PEM, or a KeyObject. */
  readonly privateKey: string | SigningKey;
  /** The tenant of the key. Default: `default`. */
  readonly tenant?: string | undefined;
}

/**
 * Where the worker's requests go, and where it hears of what becomes of them. Claims and outcomes stay with HTTP.
 */
export interface KafkaOptions {
  /** `host:port` of some of the brokers. */
  readonly brokers: readonly string[];
  /** Default: `countersign`. */
  readonly topicPrefix?: string | undefined;
  /** Named to the brokers. Default: `countersign-worker`. */
  readonly clientId?: string | undefined;
  readonly ssl?: boolean | KafkaTls | undefined;
  readonly sasl?: KafkaSasl | undefined;
  readonly signing?: RequestSigning | undefined;
  /** How long to wait for the ledger to record or refuse a request; then the error `unreachable`. Default: 60,000. */
  readonly answerWithinMs?: number | undefined;
}

/** The topic that requests are written to. */
export function requestsTopicOf({ topicPrefix = 'countersign' }: Pick<KafkaOptions, 'topicPrefix'>): string {
  return `${topicPrefix}.requests.v1`;
}
