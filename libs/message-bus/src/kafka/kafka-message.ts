import type { IHeaders, KafkaMessage as Received } from 'kafkajs';
import type { Message } from '../message-bus.js';

const nothing = new Uint8Array();

/** A received message. Its text is built at the first read; its bytes are kept unchanged for the dead letters. */
export class KafkaMessage implements Message {
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
  readonly key: string | null;
  readonly received: Received;
  readonly #generation: { readonly over: boolean };
  #headers: Readonly<Record<string, string>> | undefined;

  constructor(topic: string, partition: number, received: Received, generation: { readonly over: boolean }) {
    this.#generation = generation;
    this.topic = topic;
    this.partition = partition;
    this.offset = received.offset;
    this.key = received.key?.toString() ?? null;
    this.received = received;
  }

  /** A message without a value, which is how Kafka marks a deletion. */
  get isTombstone(): boolean {
    return this.received.value === null;
  }

  /**
   * True if the partition was revoked or reassigned since the message was received: its current owner delivers it
   * again.
   */
  get isRevoked(): boolean {
    return this.#generation.over;
  }

  get value(): Uint8Array {
    return this.received.value ?? nothing;
  }

  get headers(): Readonly<Record<string, string>> {
    return (this.#headers ??= toHeaders(this.received.headers));
  }
}

/** One header as text, without building the others. */
export function headerOf(received: Received, name: string): string | undefined {
  const value = received.headers?.[name];
  return value === undefined ? undefined : toText(value);
}

/** Header names may have any case; values may be bytes, lists or absent. */
export function toHeaders(headers: IHeaders | undefined): Readonly<Record<string, string>> {
  const entries = Object.entries(headers ?? {});
  return Object.fromEntries(
    entries.flatMap(([name, value]) => (value === undefined ? [] : [[name.toLowerCase(), toText(value)]])),
  );
}

/** The client's types have no `null`, but it occurs. */
function toText(value: Buffer | string | readonly (Buffer | string)[] | null): string {
  if (value === null) return '';
  if (typeof value === 'string') return value;
  return Buffer.isBuffer(value) ? value.toString() : value.map(toText).join(',');
}
