import type { Clock } from '@countersign/runtime';

/** A fetch has ended by then, with or without a response. */
const fetchMsMax = 60_000;

/**
 * The fetches in flight, by broker, with the time (a generation) that each belongs to.
 *
 * When a rebalance is detected during a fetch from another broker, that fetch continues, and its response belongs to
 * the earlier generation. If it were treated as the new one's, its offset would be committed over an earlier,
 * uncommitted one.
 */
export class Fetches<Generation> {
  readonly #clock: Pick<Clock, 'monotonic'>;
  readonly #underWay = new Map<string, { readonly generation: Generation; readonly since: number }>();

  constructor(clock: Pick<Clock, 'monotonic'>) {
    this.#clock = clock;
  }

  begin(node: string, generation: Generation): void {
    this.#underWay.set(node, { generation, since: this.#clock.monotonic() });
  }

  /** None is in flight. */
  clear(): void {
    this.#underWay.clear();
  }

  /** Returns whether a received batch may be the response to a fetch of an earlier generation. */
  mayBeStale(generation: Generation): boolean {
    const now = this.#clock.monotonic();
    return [...this.#underWay.values()].some((each) => each.generation !== generation && now - each.since < fetchMsMax);
  }
}
