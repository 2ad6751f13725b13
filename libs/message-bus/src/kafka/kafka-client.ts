import { Kafka, logLevel } from 'kafkajs';
import type { Admin, ISocketFactory, LogEntry, RetryOptions, SASLOptions } from 'kafkajs';
import type { Log } from '@countersign/runtime';
import { mendRequestQueue } from './request-queue.js';

/** The brokers' address and security. */
export interface KafkaConnection {
  /** `host:port` of some brokers; the others are found through them. */
  readonly brokers: readonly string[];
  /** Names the process in the brokers' logs and quotas. */
  readonly clientId: string;
  /** TLS: `true`, or with certificates as PEM. */
  readonly ssl?: boolean | { readonly ca?: string; readonly cert?: string; readonly key?: string };
  readonly sasl?: {
    readonly mechanism: 'plain' | 'scram-sha-256' | 'scram-sha-512';
    readonly username: string;
    readonly password: string;
  };
  /** Opens a connection, such as through a proxy. Default: straight. */
  readonly socketFactory?: ISocketFactory;
}

/** All of it is written out: the client's own defaults are others when NODE_ENV is `test`. */
const retry = {
  initialRetryTime: 100,
  multiplier: 2,
  factor: 0.2,
  maxRetryTime: 2_000,
  retries: 6,
  // The subscription reopens a crashed consumer, and reports that it is interrupted.
  restartOnFailure: () => Promise.resolve(false),
} satisfies RetryOptions;

/** The retry time: a consumer that gives up leaves a dead member behind, for which its group waits. */
export const patient = (patienceMs: number): RetryOptions => ({
  ...retry,
  retries: Math.max(1, Math.ceil(patienceMs / retry.maxRetryTime)),
});

/**
 * The vendor's client, with our log. It retries for about ten seconds by default, and not at all once `closed` has
 * aborted: then background retries find no broker.
 */
export function createKafkaClient(
  connection: KafkaConnection,
  {
    log,
    closed,
    retries = retry,
  }: { readonly log: Log; readonly closed: AbortSignal; readonly retries?: RetryOptions },
): Kafka {
  const { brokers, clientId, ssl, sasl, socketFactory } = connection;
  mendRequestQueue();
  return new Kafka({
    brokers: () => (closed.aborted ? [] : [...brokers]),
    clientId,
    ...(ssl === undefined ? {} : { ssl }),
    // A copy: kafkajs keeps in it how it signs in, and would go on with an old password.
    ...(sasl === undefined ? {} : { sasl: { ...sasl } as SASLOptions }),
    ...(socketFactory === undefined ? {} : { socketFactory }),
    connectionTimeout: 3_000,
    requestTimeout: 15_000,
    retry: retries,
    logLevel: logLevel.INFO,
    logCreator: () => (entry) => write(log, entry),
  });
}

/** Runs one administration request on its own connection: a kept one would be stale after an outage. */
export async function withAdmin<T>(kafka: Kafka, work: (admin: Admin) => Promise<T>): Promise<T> {
  const admin = kafka.admin();
  try {
    await admin.connect();
    return await work(admin);
  } finally {
    await admin.disconnect();
  }
}

/** Most errors of the client are one of several tries; the caller logs the final one. */
function write(
  log: Log,
  { level, namespace, log: { message, error, stack: _stack, timestamp: _at, ...rest } }: LogEntry,
): void {
  const fields = {
    ...rest,
    from: `kafkajs ${namespace}`.trimEnd(),
    ...(error === undefined ? {} : { detail: error as unknown }),
  };
  if (level === logLevel.ERROR || level === logLevel.WARN) log.warn(fields, message);
  else log.debug(fields, message);
}
