import { CountersignError, messageOf } from '../errors.js';

const refusals: Readonly<Record<string, string>> = {
  TOPIC_AUTHORIZATION_FAILED: 'forbidden',
  GROUP_AUTHORIZATION_FAILED: 'forbidden',
  CLUSTER_AUTHORIZATION_FAILED: 'forbidden',
  SASL_AUTHENTICATION_FAILED: 'unauthenticated',
  UNSUPPORTED_SASL_MECHANISM: 'unauthenticated',
  MESSAGE_TOO_LARGE: 'payload-too-large',
  RECORD_LIST_TOO_LARGE: 'payload-too-large',
};

/** Node's and OpenSSL's names of a certificate that proves nothing. */
const untrusted = /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(GET|VERIFY)_|ERR_TLS_CERT_)/;

/** Errors that a retry would get again; undefined when a retry may succeed. */
export function finalError(error: unknown): Error | undefined {
  if (error instanceof CountersignError || error instanceof TypeError) return error;
  for (const cause of causesOf(error)) {
    if (cause.name === 'KafkaJSSASLAuthenticationError') return refused('unauthenticated', cause);
    const code = refusals[textOf(cause, 'type')];
    if (code !== undefined) return refused(code, cause);
    if (untrusted.test(textOf(cause, 'code'))) return distrusted(cause);
  }
  return undefined;
}

/** Why the brokers cannot be used for now, and what it may be. */
export function describeHindrance(error: unknown): string {
  const hint = hints.find(({ isIt }) => causesOf(error).some(isIt));
  return `the Kafka brokers cannot be used: ${messageOf(error)}${hint === undefined ? '' : ` (${hint.question})`}`;
}

/** Brokers and kafkajs do not report the cause: it may be this, or an outage. */
const hints: readonly { readonly isIt: (cause: Error) => boolean; readonly question: string }[] = [
  {
    isIt: ({ name }) => name === 'KafkaJSGroupCoordinatorNotFound',
    question: 'may this user Read the groups <prefix>.worker.…?',
  },
  {
    isIt: (cause) => cause.name === 'KafkaJSConnectionClosedError' || textOf(cause, 'code') === 'ECONNRESET',
    question: 'do kafka.ssl and kafka.sasl suit the listener? One that wants TLS closes all else',
  },
];

function refused(code: string, cause: Error): CountersignError {
  return new CountersignError({
    code,
    message: `the Kafka brokers refuse: ${cause.message}${remedies[code] ?? ''}`,
    cause,
  });
}

const remedies: Readonly<Record<string, string>> = {
  unauthenticated: '. Check kafka.sasl: the mechanism, the user name and the password',
  forbidden:
    '. A worker needs Write and Describe on the requests topic, Read and Describe on the events topic, and Read on its groups',
};

function distrusted(cause: Error): CountersignError {
  const message = `the certificate of the Kafka brokers is not trusted: ${cause.message}. Name the authority that signed it in kafka.ssl.ca`;
  return new CountersignError({ code: 'unreachable', message, cause });
}

/** The error, what caused it, and so on. */
function causesOf(error: unknown): readonly Error[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : [];
}

function textOf(error: Error, member: 'type' | 'code'): string {
  const value: unknown = Reflect.get(error, member);
  return typeof value === 'string' ? value : '';
}
