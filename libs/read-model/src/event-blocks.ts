import type { EventFacet } from '@countersign/contracts';

/** What a reader wants of the log: events of a tenant with one of the values of each facet, recorded in a period. */
export interface WantedEvents {
  readonly tenant: string;
  readonly facets: Readonly<Partial<Record<EventFacet, readonly string[]>>>;
  /** Inclusive, as stored times are written. */
  readonly since?: string | undefined;
  /** Exclusive. */
  readonly until?: string | undefined;
}

/** A part of the log: the events after the position `start`, up to `end`. A store can be read from `start`. */
export interface EventBlock {
  readonly start: number;
  readonly end: number;
}

/** `found`: a block that may have wanted events. `passed`: none up to here, look on from there. `end`: there is no block left. */
export type NextBlock =
  | ({ readonly status: 'found' } & EventBlock)
  | { readonly status: 'passed'; readonly at: number }
  | { readonly status: 'end' };

/**
 * The log in blocks, each with a summary of its events, so that a search reads only where something can be. A block may be
 * found that has nothing; one that has something is never passed over.
 */
export interface BlockReads {
  /** `oldest`: the first block with events after `from`. `newest`: the last block with events before `from`. */
  readonly next: (wanted: WantedEvents, from: number, order: 'oldest' | 'newest') => NextBlock;
}

/** A Bloom filter: 10 bits for each of 800 terms, which 256 events of a busy log have. */
const [bits, probes] = [8192, 4];

/** A text under which an event is found. */
export interface Term {
  readonly facet: EventFacet | 'tenant';
  readonly value: string;
}

/** The summary of a block, while it is made. */
export type Summary = Uint8Array;

export function emptySummary(): Summary {
  return new Uint8Array(bits / 8);
}

export function addTerm(summary: Summary, term: Term): void {
  eachPlace(term, (byte, bit) => {
    summary[byte] = (summary[byte] ?? 0) | bit;
    return true;
  });
}

/** Returns false only for a term that was not added. */
export function mayHaveTerm(summary: Summary, term: Term): boolean {
  return eachPlace(term, (byte, bit) => ((summary[byte] ?? 0) & bit) !== 0);
}

/** Returns whether `visit` returned true for each place of a term. */
function eachPlace(term: Term, visit: (byte: number, bit: number) => boolean): boolean {
  const { one, other } = hashesOf(term);
  for (let probe = 0; probe < probes; probe += 1) {
    const place = (one + Math.imul(probe, other)) & (bits - 1);
    if (!visit(place >>> 3, 1 << (place & 7))) return false;
  }
  return true;
}

/**
 * FNV-1a over the facet, a zero and the value, and the same with another start, made odd. A stored form: it must not change
 * without a new schema version.
 */
function hashesOf({ facet, value }: Term): Hashes {
  const { one, other } = withText(startOf(facet), value);
  return { one: one >>> 0, other: ((other ^ (other >>> 15)) | 1) >>> 0 };
}

interface Hashes {
  readonly one: number;
  readonly other: number;
}

/** The hashes over each facet and its zero: an event has several values, and none needs a text of its own. */
const starts = new Map<string, Hashes>();

function startOf(facet: string): Hashes {
  const known = starts.get(facet);
  if (known !== undefined) return known;
  const start = withText({ one: 0x811c9dc5, other: 0x9e3779b9 }, `${facet}\u0000`);
  starts.set(facet, start);
  return start;
}

function withText({ one, other }: Hashes, text: string): Hashes {
  for (let index = 0; index < text.length; index += 1) {
    const code = text.charCodeAt(index);
    one = Math.imul(one ^ code, 0x01000193);
    other = Math.imul(other ^ code, 0x01000193);
  }
  return { one, other };
}
