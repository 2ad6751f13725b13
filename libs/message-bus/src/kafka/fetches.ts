import type { Clock } from '@countersign/runtime';

/** A fetch is answered or given up by then. */
const fetchMsMax = 60_000;

/**
 * The fetches that are under way, by the node that is asked, and the time (a generation) that each belongs to.
 *
 * A rebalance found while another node was being read from leaves that fetch running: its answer belongs to the time
 * before. Taken for the new one, it would be committed over what the partition's commit has not reached yet.
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

  /** None is under way. */
  clear(): void {
    this.#underWay.clear();
  }

  /** Whether what is received now may be the answer to a fetch of a time before. */
  mayBeStale(generation: Generation): boolean {
    const now = this.#clock.monotonic();
    return [...this.#underWay.values()].some((each) => each.generation !== generation && now - each.since < fetchMsMax);
  }
}
