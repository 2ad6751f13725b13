/** Kafka cannot be reached, or cannot take the message now: try again later. Something may have been published. */
export class BusUnavailableError extends Error {
  override readonly name: string = 'BusUnavailableError';
}

/** The broker takes no message of this size, now or later. */
export class MessageTooLargeError extends Error {
  override readonly name = 'MessageTooLargeError';
}

/** The topics are not there: `npx countersign topics create` makes them. */
export class TopicsMissingError extends BusUnavailableError {
  override readonly name = 'TopicsMissingError';
  readonly topics: readonly string[];

  constructor(topics: readonly string[]) {
    super(`missing topics: ${topics.join(', ')}. Create them with: npx countersign topics create`);
    this.topics = topics;
  }
}

/** What the client's errors carry; their classes are not all exported. */
interface KafkaFailure {
  readonly type?: unknown;
  readonly retriable?: unknown;
  readonly cause?: unknown;
}

/** The error at the bottom: what the client throws is wrapped once per layer that tried again. */
function rootOf(error: unknown): unknown {
  let root = error;
  while (root instanceof Error && root.cause instanceof Error) root = root.cause;
  return root;
}

/** The broker's name of the refusal, such as `ILLEGAL_GENERATION`; undefined when the broker said nothing. */
export function refusalOf(error: unknown): string | undefined {
  for (const each of [error, rootOf(error)]) {
    const { type } = (each instanceof Error ? each : {}) as KafkaFailure;
    if (typeof type === 'string') return type;
  }
  return undefined;
}

/** Whether a consumer that ended with this may come back by itself; otherwise something must be changed first. */
export function mayPass(error: unknown): boolean {
  if (error instanceof Error && error.name === 'KafkaJSNumberOfRetriesExceeded') return true;
  const root = rootOf(error);
  return root instanceof BusUnavailableError || (root instanceof Error && (root as KafkaFailure).retriable === true);
}

/** What the port throws in place of the client's error. `what` begins the sentence. */
export function toBusError(error: unknown, what: string): Error {
  if (error instanceof BusUnavailableError || error instanceof MessageTooLargeError) return error;
  const detail = error instanceof Error ? error.message : String(error);
  const refusal = refusalOf(error);
  if (refusal === 'MESSAGE_TOO_LARGE' || refusal === 'RECORD_LIST_TOO_LARGE') {
    return new MessageTooLargeError(`${what}: ${detail}`, { cause: error });
  }
  return new BusUnavailableError(`${what}: ${detail}`, { cause: error });
}
