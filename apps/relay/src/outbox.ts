import type { OutgoingMessage } from '@countersign/message-bus';

/** How far the log is published: the last event, and the position before it. */
export interface Place {
  readonly position: number;
  readonly previous: number;
  readonly eventId: string;
}

/** A message that waits to be published. */
export interface Entry {
  readonly message: OutgoingMessage;
  readonly bytes: number;
  readonly place: Place;
  readonly recordedAt: string;
}

export interface OutboxBounds {
  /** The limit of waiting events; one more is accepted. */
  readonly entriesMax: number;
  readonly bytesMax: number;
  /** The limit of one batch. */
  readonly batchEntriesMax: number;
  readonly batchBytesMax: number;
}

/**
 * Events that were read and are not yet published, in the order of the log, with a limit: the reader waits for room.
 */
export class Outbox {
  readonly #bounds: OutboxBounds;
  readonly #entries: Entry[] = [];
  #bytes = 0;
  #onRoom: (() => void) | undefined;
  #onEntry: (() => void) | undefined;
  #closed = false;

  constructor(bounds: OutboxBounds) {
    this.#bounds = bounds;
  }

  get size(): number {
    return this.#entries.length;
  }

  get oldest(): Entry | undefined {
    return this.#entries[0];
  }

  get closed(): boolean {
    return this.#closed;
  }

  /** A promise: the buffer is full, so await it before adding the next event. */
  add(entry: Entry): Promise<void> | undefined {
    this.#entries.push(entry);
    this.#bytes += entry.bytes;
    this.#wakeTaker();
    if (this.#hasRoom() || this.#closed) return undefined;
    return new Promise((resolve) => (this.#onRoom = resolve));
  }

  /** The oldest entries, as soon as there are any; they stay until `done`. Empty once the outbox is closed. */
  async next(): Promise<readonly Entry[]> {
    while (this.#entries.length === 0 && !this.#closed) {
      await new Promise<void>((resolve) => (this.#onEntry = resolve));
    }
    if (this.#closed) return [];
    let bytes = 0;
    let count = 0;
    for (const entry of this.#entries) {
      bytes += entry.bytes;
      if (count > 0 && (count >= this.#bounds.batchEntriesMax || bytes > this.#bounds.batchBytesMax)) break;
      count += 1;
    }
    return this.#entries.slice(0, count);
  }

  /** The oldest `count` are published. */
  done(count: number): void {
    for (const entry of this.#entries.splice(0, count)) this.#bytes -= entry.bytes;
    if (this.#hasRoom()) this.#wakeReader();
  }

  /** Releases the waiting reader. Unpublished events are read again by the next leader. */
  close(): void {
    this.#closed = true;
    this.#wakeReader();
    this.#wakeTaker();
  }

  #hasRoom(): boolean {
    return this.#entries.length < this.#bounds.entriesMax && this.#bytes < this.#bounds.bytesMax;
  }

  #wakeReader(): void {
    this.#onRoom?.();
    this.#onRoom = undefined;
  }

  #wakeTaker(): void {
    this.#onEntry?.();
    this.#onEntry = undefined;
  }
}
