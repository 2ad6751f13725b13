import type { EventView, RecordedEvent } from '@countersign/contracts';
/** A message about to be published. */
export interface OutgoingMessage {
  /** Messages of one key keep their order; messages without a key have none. */
  readonly key: string | null;
  readonly value: string | Uint8Array;
  readonly headers: Readonly<Record<string, string>>;
}

/** A message as a consumer group receives it. */
export interface Message {
  readonly topic: string;
  readonly partition: number;
  /** Its position in the partition: a decimal number, as text because Kafka's has 64 bits. */
  readonly offset: string;
  readonly key: string | null;
  /** The published bytes. They may be built at the first read. */
  readonly value: Uint8Array;
  /** Header names are lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The event that `value` is the text of, where the bus has it at hand. */
  readonly event?: EventView;
  /** How many bytes of memory are the message's own. Absent: it shares those of the log. */
  readonly bytes?: number;
}

/** Where a message waits for its turn. */
export interface Place {
  /** Whose turn it takes. Holders take turns, so one with thousands of messages delays another by one message at a time. */
  readonly holder: string;
  /** The messages of one lane of a holder are handled in order. Null: the message waits for no other. */
  readonly lane: string | null;
}

/** One try to handle a message. */
export interface Delivery {
  /** 1 for the first try of this process. */
  readonly attempt: number;
  /** Aborts when the subscription stops: finish what must not be cut off, and start nothing long. */
  readonly signal: AbortSignal;
  /** Returns whether an earlier message of the lane still waits that came too early for this subject. */
  readonly isBehind: (subject: string) => boolean;
}

/** The messages of one consumer group, and the limits of its concurrency and memory. */
export interface SubscribeOptions {
  /** The name under which the progress is kept. A new group starts with the oldest message. */
  readonly group: string;
  readonly topics: readonly string[];
  /** Only messages whose header `ce_type` is one of these; the others count as handled. Default: all. */
  readonly types?: readonly string[];
  /**
   * Returns whether an event may need work. A bus that has the events themselves counts the others as handled before it makes
   * messages of them; a broker hands them over.
   */
  readonly concerns?: (event: RecordedEvent) => boolean;
  /**
   * Hands over events too that the relay could not read, without their data: a later version than the relay's may know
   * what to do. Default: they count as handled.
   */
  readonly takesUnreadable?: boolean;
  /**
   * Handles one message. A rejection or an error is a failed attempt; it never crashes the process or loses the
   * message.
   */
  readonly onMessage: (message: Message, delivery: Delivery) => void | Promise<void>;
  /** Returns the place of a message. MUST NOT reject. Default: one holder for all, and the lane of its key. */
  readonly placeOf?: (message: Message) => Promise<Place>;
  /** Takes a turn of a holder and returns 0; or returns after how many ms it may take one. Default: always 0. */
  readonly takeTurn?: (holder: string) => number;
  /** How many handlers run at once, each for another lane. Default: 16. */
  readonly concurrency?: number;
  /** How many messages are held in memory, waiting ones included; then reading pauses. Default: 1024. */
  readonly inFlightMax?: number;
  /** How many bytes of messages are held in memory; then reading pauses. Default: 8 MiB. */
  readonly inFlightBytesMax?: number;
  /** The number of failed attempts after which a message is parked. Default 5. */
  readonly attemptsMax?: number;
  /** The pause after the first failure; it doubles with each further one. Default: 100. */
  readonly retryDelayMsMin?: number;
  /** Default 5,000. */
  readonly retryDelayMsMax?: number;
  /**
   * Returns whether a failure is caused by the surroundings and not by the message, such as an unreachable event store:
   * then it is retried without a limit, and no attempt is counted. Default: never.
   */
  readonly isTransient?: (error: unknown) => boolean;
}

/** The state of a subscription, for `/readyz` and metrics. */
export interface SubscriptionStatus {
  /**
   * `interrupted`: the source cannot be read, or a message can neither be handled nor parked, so its key waits and no
   * progress is stored. It is retried automatically.
   */
  readonly state: 'running' | 'interrupted' | 'stopped';
  /** Why it is interrupted. */
  readonly why?: string;
  /** Messages received and not yet handled or parked. */
  readonly inFlight: number;
}

export interface Subscription {
  readonly status: () => SubscriptionStatus;
  /**
   * Accepts no more messages, waits for the running handlers, stores the progress. Waiting messages are delivered next
   * time.
   */
  readonly stop: () => Promise<void>;
}

/** A message that a group could not handle, parked so that it does not block the others. */
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

/** Called for each message that was parked, for example to count it. */
export type OnParked = (parked: { readonly group: string; readonly code: string }) => void;

/** The parked messages, oldest first. */
export interface DeadLetters {
  readonly list: (query?: {
    readonly group?: string;
    /** The id of the last entry of the previous page. */
    readonly after?: string;
    /** Default 100. */
    readonly limit?: number;
  }) => Promise<readonly DeadLetter[]>;
  readonly show: (id: string) => Promise<DeadLetter | undefined>;
  /**
   * Delivers a parked message to its group again, after the waiting ones: at once when the group is subscribed,
   * otherwise at its next subscription. It leaves the list, and returns if it fails again. Returns false when there is
   * no such message.
   */
  readonly replay: (id: string) => Promise<boolean>;
}

/** Publishing, separate from consuming: when the log itself is the bus, there is nothing to publish. */
export interface MessagePublisher {
  /**
   * Resolves when every message is durable. After a rejection some may be published: publish all again.
   * @throws MessageTooLargeError when no retry can succeed: publish fewer at once, or smaller ones.
   */
  readonly publish: (topic: string, messages: readonly OutgoingMessage[]) => Promise<void>;
}

/**
 * Delivers messages to consumer groups.
 *
 * MUST for every adapter (the contract suite proves it): each message of a topic reaches each group at least once; the
 * messages of one lane are handled in order and never two at a time; a group resumes where it stopped; a message that
 * fails `attemptsMax` times, or crashes the process of its handler three times, is parked with its bytes, key and
 * headers, and the others continue; memory is bounded.
 */
export interface MessageBus {
  /** The system of its messages, as traces name it. */
  readonly system: 'kafka' | 'countersign';
  /** @throws Error for an unknown topic, or a group that this bus already serves. */
  readonly subscribe: (options: SubscribeOptions) => Subscription;
  readonly deadLetters: DeadLetters;
  /** Stops every subscription. */
  readonly close: () => Promise<void>;
}

/** A published message is too large for the topic; no retry can succeed. */
export class MessageTooLargeError extends Error {
  override readonly name = 'MessageTooLargeError';
}

/** Thrown by a handler for a message that no retry can fix: it is parked at once, with this code. */
export class PoisonMessageError extends Error {
  override readonly name = 'PoisonMessageError';
  readonly code: string;

  constructor(code: string, detail: string) {
    super(detail);
    this.code = code;
  }
}

/**
 * Thrown by a handler for a message that came before what it is about: it is retried apart from its lane, which goes on.
 * Later messages of the lane about the same subject stay behind it, if their handler asks `isBehind` and throws this too.
 */
export class EarlyMessageError extends Error {
  override readonly name: string = 'EarlyMessageError';
  readonly subject: string;

  constructor(subject: string, detail: string) {
    super(detail);
    this.subject = subject;
  }
}
