/** So many are sorted at once: that takes about a millisecond. */
const chunkSize = 8_192;

/** Durations in whole milliseconds, in the order in which they came, and in sorted chunks once there are many. */
export class Durations {
  #open: number[] = [];
  #sorted: readonly Float64Array[] = [];
  #count = 0;

  add(durationMs: number): void {
    this.#open.push(durationMs);
    this.#count += 1;
    if (this.#open.length < chunkSize) return;
    this.#sorted = [...this.#sorted, Float64Array.from(this.#open).sort()];
    this.#open = [];
  }

  /** Adds all durations of another one. */
  merge(other: Durations): void {
    this.#sorted = [...this.#sorted, ...other.#sorted];
    for (const { length } of other.#sorted) this.#count += length;
    for (const durationMs of other.#open) this.add(durationMs);
  }

  /**
   * For each part, the smallest duration that at least this part of all do not exceed (nearest rank); null when there is
   * none.
   */
  percentiles(...parts: readonly number[]): readonly (number | null)[] {
    if (this.#count === 0) return parts.map(() => null);
    const chunks = [...this.#sorted, Float64Array.from(this.#open).sort()];
    const longest = chunks.reduce((longestMs, chunk) => Math.max(longestMs, chunk.at(-1) ?? 0), 0);
    return parts.map((part) => valueAt(chunks, Math.max(1, Math.ceil(part * this.#count)), longest));
  }
}

/** Halves the range of values until one is left, so that the chunks need not be sorted together. */
function valueAt(chunks: readonly Float64Array[], rank: number, longest: number): number {
  let [low, high] = [0, longest];
  while (low < high) {
    const middle = low + Math.floor((high - low) / 2);
    const within = chunks.reduce((sum, chunk) => sum + countUpTo(chunk, middle), 0);
    if (within >= rank) high = middle;
    else low = middle + 1;
  }
  return low;
}

/** How many values of a sorted chunk are at most this large. */
function countUpTo(chunk: Float64Array, value: number): number {
  let [low, high] = [0, chunk.length];
  while (low < high) {
    const middle = (low + high) >>> 1;
    if ((chunk[middle] ?? 0) <= value) low = middle + 1;
    else high = middle;
  }
  return low;
}
