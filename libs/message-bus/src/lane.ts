import type { Failure, Failures } from './failure.js';
import type { Message } from './message-bus.js';
import type { Trial } from './probation.js';

/** A message that is received and not settled. */
export interface Item {
  /** In the order of arrival. */
  readonly number: number;
  readonly message: Message;
  readonly settled: () => void;
  readonly trial: Trial | undefined;
  failures: Failures;
  /** Set once no further try is left. */
  parking?: Failure;
}

/** A message that came too early, and what it waits for. */
interface Early {
  readonly item: Item;
  readonly subject: string;
  /** It waits apart from its lane. */
  isApart: boolean;
}

/**
 * The messages that are handled in order. The first one runs, or waits for its retry or its turn. Messages that came too
 * early wait apart, so that the others go on: those about the same subject stay in order, the first of them is retried.
 */
export class Lane {
  readonly key: unknown;
  /** Whose turns it takes. */
  readonly holder: string;
  /** The first one is being handled, or waits for its turn or its retry. */
  isBusy = false;
  isRunning = false;
  readonly #items: Item[] = [];
  /** In the order of arrival. */
  readonly #early: Early[] = [];

  constructor(key: unknown, holder: string) {
    this.key = key;
    this.holder = holder;
  }

  get first(): Item | undefined {
    return this.#items[0];
  }

  get isEmpty(): boolean {
    return this.#items.length === 0 && this.#early.length === 0;
  }

  push(item: Item): void {
    this.#items.push(item);
  }

  /** Returns whether an earlier message is not settled that came too early for the same subject. */
  isBehind(item: Item, subject: string): boolean {
    return this.#early.some((other) => other.subject === subject && other.item.number < item.number);
  }

  /** The first message came too early. Returns whether it is to be retried: the first about a subject, no other. */
  setApart(item: Item, subject: string): boolean {
    this.#items.shift();
    const known = this.#early.find((other) => other.item === item);
    if (known === undefined) {
      const after = this.#early.findIndex((other) => other.item.number > item.number);
      this.#early.splice(after === -1 ? this.#early.length : after, 0, { item, subject, isApart: true });
    } else known.isApart = true;
    return !this.isBehind(item, subject);
  }

  /** A message that waited apart is the next one. */
  takeBack(item: Item): void {
    for (const early of this.#early) if (early.item === item) early.isApart = false;
    this.#items.splice(this.isRunning ? 1 : 0, 0, item);
  }

  /** The first message is settled. If it was too early once, those behind it follow at once, with as many tries left. */
  settle(item: Item): void {
    this.#items.shift();
    const index = this.#early.findIndex((other) => other.item === item);
    const [settled] = index === -1 ? [] : this.#early.splice(index, 1);
    if (settled === undefined) return;
    const behind = this.#early.filter(({ subject, isApart }) => subject === settled.subject && isApart);
    for (const early of behind) {
      const { counted, transient } = early.item.failures;
      early.isApart = false;
      early.item.failures = { counted: Math.max(counted, item.failures.counted), transient };
    }
    this.#items.unshift(...behind.map((early) => early.item));
  }
}
