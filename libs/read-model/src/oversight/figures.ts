import type { OversightFigures, OversightReport } from '@countersign/contracts';
import { Durations } from './durations.js';

/** The figures that are counted one by one. */
export type Counted = Exclude<keyof OversightFigures, 'rejectionRate' | 'medianMs' | 'p90Ms'>;

const noFigures: Readonly<Record<Counted, number>> = {
  decisions: 0,
  approvals: 0,
  edits: 0,
  denials: 0,
  answers: 0,
  fastApprovals: 0,
  onBehalfOf: 0,
  withdrawn: 0,
  reveals: 0,
  requests: 0,
  expiries: 0,
  escalations: 0,
  reminders: 0,
  cancellations: 0,
  automatic: 0,
};

/** The sums of one row. */
export class Sums {
  readonly #counts: Record<Counted, number> = { ...noFigures };
  readonly #durations = new Durations();

  count(figure: Counted): void {
    this.#counts[figure] += 1;
  }

  took(durationMs: number): void {
    this.#durations.add(durationMs);
  }

  merge(other: Sums): void {
    for (const figure of Object.keys(noFigures) as Counted[]) this.#counts[figure] += other.#counts[figure];
    this.#durations.merge(other.#durations);
  }

  get decisions(): number {
    return this.#counts.decisions;
  }

  get requests(): number {
    return this.#counts.requests;
  }

  figures(): OversightFigures {
    const { decisions, denials } = this.#counts;
    const [medianMs = null, p90Ms = null] = this.#durations.percentiles(0.5, 0.9);
    return { ...this.#counts, rejectionRate: decisions === 0 ? null : denials / decisions, medianMs, p90Ms };
  }
}

/** Attack: an agent that asks for thousands of tools of different names. */
const keysMax = 10_000;
const rowsMax = 1_000;

/** The sums by key, for a bounded number of keys; the rest is summed together. */
export class SumsByKey {
  readonly #byKey = new Map<string | null, Sums>();
  readonly #total = new Sums();
  readonly #others = new Sums();
  #hasOthers = false;

  /** Adds to the row of a key, and to the total. */
  add(key: string | null, figures: readonly Counted[], tookMs?: number): void {
    for (const sums of [this.#total, this.#of(key)]) {
      for (const figure of figures) sums.count(figure);
      if (tookMs !== undefined) sums.took(tookMs);
    }
  }

  /** The rows, the most decisions first. `breathe` may give others their turn between two of them. */
  async rows(
    breathe: () => Promise<void> | undefined = () => undefined,
  ): Promise<Pick<OversightReport, 'rows' | 'others' | 'total'>> {
    const sorted = [...this.#byKey].toSorted(byDecisions);
    const left = sorted.slice(rowsMax);
    for (const [, sums] of left) {
      this.#others.merge(sums);
      await breathe();
    }
    const rows: OversightReport['rows'] = [];
    for (const [key, sums] of sorted.slice(0, rowsMax)) {
      rows.push({ key, ...sums.figures() });
      await breathe();
    }
    const hasOthers = this.#hasOthers || left.length > 0;
    const others = hasOthers ? { keys: left.length, ...this.#others.figures() } : null;
    return { rows, others, total: this.#total.figures() };
  }

  #of(key: string | null): Sums {
    const known = this.#byKey.get(key);
    if (known !== undefined) return known;
    if (this.#byKey.size >= keysMax) {
      this.#hasOthers = true;
      return this.#others;
    }
    const sums = new Sums();
    this.#byKey.set(key, sums);
    return sums;
  }
}

type Keyed = readonly [key: string | null, sums: Sums];

function byDecisions([oneKey, one]: Keyed, [otherKey, other]: Keyed): number {
  return other.decisions - one.decisions || other.requests - one.requests || compareKeys(oneKey, otherKey);
}

/** The row of no person comes last. */
function compareKeys(one: string | null, other: string | null): number {
  if (one === null || other === null) return Number(one === null) - Number(other === null);
  return one < other ? -1 : 1;
}
