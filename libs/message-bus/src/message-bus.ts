import type { EventView } from '@countersign/contracts';
/** A message about to be published. */
export interface OutgoingMessage {
  /** Messages of one key keep their order; those without a key have none. */
  readonly key: string | null;
  readonly value: string | Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** A message as a consumer group receives it. */
export interface Message {
  readonly topic: string;
  readonly partition: number;
  /** Where it stands in its partition: a decimal number, as text because Kafka's has 64 bits. */
  readonly offset: string;
  readonly key: string | null;
  /** The published bytes. May be made when they are first read. */
  readonly value: Uint8Array;
  /** Header names are lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The event that `value` is the text of, where the bus has it at hand. */
  readonly event?: EventView;
}

/** One try to handle a message. */
export interface Delivery {
  /** 1 for the first try of this process. */
  readonly attempt: number;
  /** Aborts when the subscription stops: finish what must not be cut off, and start nothing long. */
  readonly signal: AbortSignal;
}

/** What one consumer group wants, and how much of it at once. */
export interface SubscribeOptions {
  /** The name under which the progress is kept. A new group starts with the oldest message. */
  readonly group: string;
  readonly topics: readonly string[];
  /** Only messages whose header `ce_type` is one of these; the others count as handled and cost nothing. Default: all. */
  readonly types?: readonly string[];
  /** Handles one message. A rejection or a throw is a failed attempt; never a crash, and never a message lost. */
  readonly onMessage: (message: Message, delivery: Delivery) => void | Promise<void>;
  /** How many handlers run at once, each of another key. Default 16. */
  readonly concurrency?: number;
  /** How many messages are held in memory, waiting ones included; reading pauses there. Default 1024. */
  readonly inFlightMax?: number;
  /** After so many failed attempts a message is parked. Default 5. */
  readonly attemptsMax?: number;
  /** The pause after the first failure; it doubles with each further one. Default 100. */
  readonly retryDelayMsMin?: number;
  /** Default 5,000. */
  readonly retryDelayMsMax?: number;
  /**
   * Whether a failure is the surroundings' and not the message's, such as an event store that is down: then it is tried
   * until it works, and no attempt is counted. Default: never.
   */
  readonly isTransient?: (error: unknown) => boolean;
}

/** How a subscription is doing, for `/readyz` and metrics. */
export interface SubscriptionStatus {
  /**
   * `interrupted`: the source cannot be read, or a message can neither be handled nor put aside, behind which its key
   * waits and no progress is kept. It is tried again by itself.
   */
  readonly state: 'running' | 'interrupted' | 'stopped';
  /** Why it is interrupted. */
  readonly why?: string;
  /** Messages taken and not yet handled or parked. */
  readonly inFlight: number;
}

export interface Subscription {
  readonly status: () => SubscriptionStatus;
  /** Takes no more messages, waits for the running handlers, keeps the progress. What waited is delivered next time. */
  readonly stop: () => Promise<void>;
}

/** A message that a group could not handle, put aside so that it stops nobody. */
export interface DeadLetter extends Message {
  readonly id: string;
  readonly group: string;
  /**
   * Why, for programs: the code of a `PoisonMessageError`; `crashed` when processes ended while they handled it; else
   * `handler-failed`.
   */
  readonly code: string;
  /** Why, for people. */
  readonly detail: string;
  readonly attempts: number;
  readonly parkedAt: string;
}

/** Hears of each message that was parked, such as to count them. */
export type OnParked = (parked: { readonly group: string; readonly code: string }) => void;

/** The parked messages, oldest first. */
export interface DeadLetters {
  readonly list: (query?: {
    readonly group?: string;
    /** The id of the last one already seen. */
    readonly after?: string;
    /** Default 100. */
    readonly limit?: number;
  }) => Promise<readonly DeadLetter[]>;
  readonly show: (id: string) => Promise<DeadLetter | undefined>;
  /**
   * Gives a parked message to its group once more, behind what waits now: at once when the group is subscribed, else
   * when it next is. It leaves the list, and comes back if it fails again. False when there is no such message.
   */
  readonly replay: (id: string) => Promise<boolean>;
}

/** What publishes. Apart from consuming: where the log itself is the bus, there is nothing to publish. */
export interface MessagePublisher {
  /**
   * Resolves when every message is durable. A rejection may have published some: publish all again.
   * @throws MessageTooLargeError when no further try can help: publish fewer at once, or less.
   */
  readonly publish: (topic: string, messages: readonly OutgoingMessage[]) => Promise<void>;
}

/**
 * Carries messages to consumer groups.
 *
 * MUST for every adapter (the contract suite proves it): each message of a topic reaches each group at least once; the
 * messages of one key are handled in order and never two at a time; a group resumes where it stopped; a message that
 * fails `attemptsMax` times, or ends the process of its handler three times, is parked with its bytes, key and headers, and
 * the others go on; memory is bounded.
 */
export interface MessageBus {
  /** @throws Error for an unknown topic, or a group that this bus already serves. */
  readonly subscribe: (options: SubscribeOptions) => Subscription;
  readonly deadLetters: DeadLetters;
  /** Stops every subscription. */
  readonly close: () => Promise<void>;
}

/** What was given to publish is too large for the topic, now and later. */
export class MessageTooLargeError extends Error {
  override readonly name = 'MessageTooLargeError';
}

/** Thrown by a handler for a message that no further try can help: it is parked at once, under this code. */
export class PoisonMessageError extends Error {
  override readonly name = 'PoisonMessageError';
  readonly code: string;

  constructor(code: string, detail: string) {
    super(detail);
    this.code = code;
  }
}
