import type { SubscribeOptions } from './message-bus.js';

/** How many messages a group holds in memory, and how many bytes of them. */
export const inFlightMaxDefault = 1024;
const inFlightBytesMaxDefault = 8 * 1024 * 1024;

/** The memory for the messages that a group has received and not settled. The last message may exceed it. */
export class Room {
  readonly #countMax: number;
  readonly #bytesMax: number;
  readonly #waiting: (() => void)[] = [];
  #count = 0;
  #bytes = 0;

  constructor({
    inFlightMax = inFlightMaxDefault,
    inFlightBytesMax = inFlightBytesMaxDefault,
  }: Pick<SubscribeOptions, 'inFlightMax' | 'inFlightBytesMax'>) {
    this.#countMax = inFlightMax;
    this.#bytesMax = inFlightBytesMax;
  }

  /** How many messages are held. */
  get count(): number {
    return this.#count;
  }

  get isFull(): boolean {
    return this.#count >= this.#countMax || this.#bytes >= this.#bytesMax;
  }

  take(bytes: number): void {
    this.#count += 1;
    this.#bytes += bytes;
  }

  giveBack(bytes: number): void {
    this.#count -= 1;
    this.#bytes -= bytes;
    if (!this.isFull) this.#waiting.shift()?.();
  }

  /** Resolves when it is not full any more, or is released. */
  untilFree(): Promise<void> {
    return new Promise((resolve) => this.#waiting.push(resolve));
  }

  /** Nobody waits any more. */
  release(): void {
    for (const resolve of this.#waiting.splice(0)) resolve();
  }
}
