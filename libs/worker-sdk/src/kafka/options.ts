import type { KeyObject } from 'node:crypto';

/** Certificates for TLS, in PEM. */
export interface KafkaTls {
  readonly ca?: string | Buffer | readonly (string | Buffer)[] | undefined;
  readonly cert?: string | Buffer | undefined;
  readonly key?: string | Buffer | undefined;
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

/** The key that requests are signed with, as the operator registered it in `COUNTERSIGN_REQUESTS_KEYS`. */
export interface RequestSigning {
  readonly kid: string;
  /** Ed25519 or P-256: PKCS #8 in PEM, or a KeyObject. */
  readonly privateKey: string | KeyObject;
  /** The tenant of the key. Default: `default`. */
  readonly tenant?: string | undefined;
}

/**
 * Where the worker's requests go, and where it hears of what becomes of them. Claims and outcomes stay with HTTP.
 *
 * @example
 * kafka: { brokers: ['127.0.0.1:9092'] },
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
