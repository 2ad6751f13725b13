import { describeError } from '../failure.js';
import { MessageTooLargeError } from '../message-bus.js';

/** Kafka is unreachable or cannot accept the message now. Retry later; some messages may have been published. */
export class BusUnavailableError extends Error {
  override readonly name: string = 'BusUnavailableError';
}

/** The topics are not there, or this principal must not see them. */
export class TopicsMissingError extends BusUnavailableError {
  override readonly name = 'TopicsMissingError';
  readonly topics: readonly string[];

  constructor(topics: readonly string[]) {
    // For brokers a missing topic and a hidden one look the same.
    const remedy = 'Create them with: npx countersign topics create; or let this principal Describe them';
    super(`missing topics: ${topics.join(', ')}. ${remedy}`);
    this.topics = topics;
  }
}

/** The members of the client's errors; not all of their classes are exported. */
interface KafkaFailure {
  readonly type?: unknown;
  readonly code?: unknown;
  readonly retriable?: unknown;
}

/** Returns the error and all its causes. The client wraps an error once for each layer that retried. */
function causesOf(error: unknown): readonly (Error & KafkaFailure)[] {
  return error instanceof Error ? [error, ...causesOf(error.cause)] : [];
}

/** The broker's name of the error, such as `ILLEGAL_GENERATION`; undefined when it is not the broker's. */
export function refusalOf(error: unknown): string | undefined {
  const types = causesOf(error).map(({ type }) => type);
  return types.find((type) => typeof type === 'string');
}

/** The principal lacks a right, which the operator of the brokers can grant at any time. */
const unauthorised = /_AUTHORIZATION_FAILED$/;

/** The client's error for every failed request for a group: an outage, or a missing right. */
const isGroupUnknown = ({ name }: Error): boolean => name === 'KafkaJSGroupCoordinatorNotFound';

/**
 * Returns whether a consumer that ended with this error may recover by itself; otherwise the configuration must change
 * first.
 */
export function mayPass(error: unknown): boolean {
  const causes = causesOf(error);
  if (causes[0]?.name === 'KafkaJSNumberOfRetriesExceeded' || causes.some(isGroupUnknown)) return true;
  if (unauthorised.test(refusalOf(error) ?? '')) return true;
  const root = causes.at(-1);
  return root instanceof BusUnavailableError || root?.retriable === true;
}

/** Node's and OpenSSL's names of a certificate that proves nothing. */
const untrusted = /^(CERT_|DEPTH_ZERO_|SELF_SIGNED_|UNABLE_TO_(GET|VERIFY)_|ERR_TLS_CERT_)/;

interface Remedy {
  readonly helps: (cause: Error & KafkaFailure) => boolean;
  readonly sentence: string;
}

const remedies: readonly Remedy[] = [
  {
    helps: ({ type }) => unauthorised.test(String(type)),
    sentence: 'Give this principal the rights of its role (docs/kafka.md, "Who may do what")',
  },
  {
    helps: ({ name }) => name === 'KafkaJSSASLAuthenticationError',
    sentence: 'Check COUNTERSIGN_KAFKA_SASL_MECHANISM, _USERNAME and the file of _PASSWORD_FILE',
  },
  {
    helps: ({ code }) => untrusted.test(String(code)),
    sentence: 'Name the authority that signed the certificate of the brokers in NODE_EXTRA_CA_CERTS',
  },
  {
    helps: isGroupUnknown,
    sentence: 'If the brokers are well: may this principal Read its group (docs/kafka.md, "Who may do what")?',
  },
  {
    // A listener that requires TLS or a password silently closes other connections.
    helps: ({ name, code }) => name === 'KafkaJSConnectionClosedError' || code === 'ECONNRESET',
    sentence: 'If the brokers are well: do COUNTERSIGN_KAFKA_SSL and _SASL_… suit their listener?',
  },
];

/** The problem and its possible remedy. */
export function explain(error: unknown): string {
  return `${describeError(error)}${remedyFor(error)}`;
}

/** The remedy as the next sentence; empty when none is known. */
function remedyFor(error: unknown): string {
  const remedy = remedies.find(({ helps }) => causesOf(error).some(helps));
  return remedy === undefined ? '' : `. ${remedy.sentence}`;
}

/** The port's error instead of the client's. `what` begins the sentence. */
export function toBusError(error: unknown, what: string): Error {
  if (error instanceof BusUnavailableError || error instanceof MessageTooLargeError) return error;
  const detail = `${error instanceof Error ? error.message : String(error)}${remedyFor(error)}`;
  const refusal = refusalOf(error);
  if (refusal === 'MESSAGE_TOO_LARGE' || refusal === 'RECORD_LIST_TOO_LARGE') {
    return new MessageTooLargeError(`${what}: ${detail}`, { cause: error });
  }
  return new BusUnavailableError(`${what}: ${detail}`, { cause: error });
}
