import type { IHeaders, KafkaMessage as Received } from 'kafkajs';
import type { Message } from '../message-bus.js';

const nothing = new Uint8Array();

/** A received message. Its text is built at the first read; its bytes are kept unchanged for the dead letters. */
export class KafkaMessage implements Message {
  readonly topic: string;
  readonly partition: number;
  readonly offset: string;
  readonly key: string | null;
  readonly bytes: number;
  #received: Received;
  readonly #generation: { readonly over: boolean };
  #headers: Readonly<Record<string, string>> | undefined;

  constructor(topic: string, partition: number, received: Received, generation: { readonly over: boolean }) {
    this.#generation = generation;
    this.topic = topic;
    this.partition = partition;
    this.offset = received.offset;
    this.key = received.key?.toString() ?? null;
    this.bytes = bytesOf(received);
    this.#received = received;
  }

  /** As the client has it. */
  get received(): Received {
    return this.#received;
  }

  /**
   * For a message that waits. The client's bytes are a part of a whole response of a broker, which would stay in memory with
   * the smallest message of it: then they are copied.
   */
  keepApart(): void {
    const { key, value } = this.#received;
    const { byteLength } = (value ?? key ?? nothing).buffer;
    if (byteLength > 2 * this.bytes + smallBytes) this.#received = copyOf(this.#received);
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

/** A response of this size may stay in memory with any message. */
const smallBytes = 16 * 1024;

/** A header costs this much besides its name and value. */
const headerBytes = 64;

/** About how much memory all of it takes. */
function bytesOf({ key, value, headers }: Received): number {
  const named = Object.entries(headers ?? {}).map(([name, header]) => headerBytes + name.length + lengthOf(header));
  return lengthOf(key) + lengthOf(value) + named.reduce((sum, bytes) => sum + bytes, 0);
}

function lengthOf(part: unknown): number {
  if (Array.isArray(part)) return part.reduce((sum: number, each) => sum + lengthOf(each), 0);
  return Buffer.isBuffer(part) || typeof part === 'string' ? part.length : 0;
}

/** A copy with all its bytes in a buffer of its own: those of Node's pool would keep the pool. */
function copyOf(received: Received): Received {
  const { key, value, headers } = received;
  const copied = copierInto(Buffer.allocUnsafeSlow(bytesOf(received)));
  const named = Object.entries(headers ?? {}).map(([name, header]) => [name, copied(header)] as const);
  return {
    ...received,
    ...{ key: copied(key), value: copied(value) },
    ...(headers !== undefined && { headers: Object.fromEntries(named) }),
  } as Received;
}

/** Copies the bytes of one part after the other into a buffer that has room for all. */
function copierInto(target: Buffer): (part: unknown) => unknown {
  let end = 0;
  const copied = (part: unknown): unknown => {
    if (Array.isArray(part)) return part.map(copied);
    if (!Buffer.isBuffer(part)) return part;
    const start = end;
    end += part.copy(target, start);
    return target.subarray(start, end);
  };
  return copied;
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
