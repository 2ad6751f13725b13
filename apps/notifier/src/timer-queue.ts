import type { Clock } from '@countersign/runtime';

/** An entry that is due at a time. Entries with the same id are one. */
export interface TimerEntry {
  readonly id: string;
  readonly dueAtMs: number;
}

/** Entries that are due later, the earliest first, with one timer. It is rebuilt from the log at each start. */
export class TimerQueue<E extends TimerEntry> {
  readonly #clock: Clock;
  readonly #onDue: (entries: readonly E[]) => void;
  readonly #heap: E[] = [];
  readonly #byId = new Map<string, E>();
  #cancel: (() => void) | undefined;
  #wakesAtMs = Number.POSITIVE_INFINITY;

  constructor(clock: Clock, onDue: (entries: readonly E[]) => void) {
    this.#clock = clock;
    this.#onDue = onDue;
  }

  get size(): number {
    return this.#byId.size;
  }

  has(id: string): boolean {
    return this.#byId.has(id);
  }

  /** An existing entry keeps its time, unless the new time is earlier. */
  add(entry: E): void {
    const before = this.#byId.get(entry.id);
    if (before !== undefined && before.dueAtMs <= entry.dueAtMs) return;
    this.#byId.set(entry.id, entry);
    this.#push(entry);
    this.#wake();
  }

  clear(): void {
    this.#cancel?.();
    this.#heap.length = 0;
    this.#byId.clear();
    this.#wakesAtMs = Number.POSITIVE_INFINITY;
  }

  #wake(): void {
    const first = this.#heap[0];
    if (first === undefined || first.dueAtMs >= this.#wakesAtMs) return;
    this.#cancel?.();
    this.#wakesAtMs = first.dueAtMs;
    this.#cancel = this.#clock.setTimer(Math.max(0, first.dueAtMs - this.#clock.now()), () => {
      this.#wakesAtMs = Number.POSITIVE_INFINITY;
      this.#takeDue();
      this.#wake();
    });
  }

  #takeDue(): void {
    const due: E[] = [];
    const now = this.#clock.now();
    for (let first = this.#heap[0]; first !== undefined && first.dueAtMs <= now; first = this.#heap[0]) {
      this.#pop();
      // An entry that was moved to an earlier time leaves a stale copy.
      if (this.#byId.get(first.id) !== first) continue;
      this.#byId.delete(first.id);
      due.push(first);
    }
    if (due.length > 0) this.#onDue(due);
  }

  #push(entry: E): void {
    const heap = this.#heap;
    let index = heap.push(entry) - 1;
    while (index > 0) {
      const parent = (index - 1) >> 1;
      if ((heap[parent]?.dueAtMs ?? 0) <= entry.dueAtMs) break;
      this.#swap(index, parent);
      index = parent;
    }
  }

  #pop(): void {
    const heap = this.#heap;
    const last = heap.pop();
    if (last === undefined || heap.length === 0) return;
    heap[0] = last;
    for (let index = 0; ;) {
      const [left, right] = [2 * index + 1, 2 * index + 2];
      const smaller = this.#dueAt(right) < this.#dueAt(left) ? right : left;
      if (this.#dueAt(smaller) >= last.dueAtMs) return;
      this.#swap(index, smaller);
      index = smaller;
    }
  }

  #dueAt(index: number): number {
    return this.#heap[index]?.dueAtMs ?? Number.POSITIVE_INFINITY;
  }

  #swap(one: number, other: number): void {
    const [first, second] = [this.#heap[one], this.#heap[other]];
    if (first === undefined || second === undefined) return;
    this.#heap[one] = second;
    this.#heap[other] = first;
  }
}
