import { readEntry } from './entry.js';
import type { Entry } from './entry.js';

/** An event as bundles and proofs have it. Everything in it but the index is covered by the leaf of its entry. */
export interface ExportedEvent {
  /** From 0: how many events of the tenant came before. */
  readonly index: number;
  readonly entry: Entry;
  /** Null: a commitment, whose content is not shown. `data` is absent where the stored data are no JSON. */
  readonly body: { readonly data?: unknown; readonly metadata?: unknown } | null;
}

/** Reads an exported event from JSON. Undefined for a value that is none. Further members are left to others. */
export function readExported(value: unknown): ExportedEvent | undefined {
  if (typeof value !== 'object' || value === null) return undefined;
  const { index, entry: members, body } = value as Readonly<Record<string, unknown>>;
  const entry = readEntry(members);
  if (!isIndex(index) || entry === undefined) return undefined;
  if (body === null) return { index, entry, body };
  if (typeof body !== 'object' || Object.keys(body).some((name) => name !== 'data' && name !== 'metadata')) {
    return undefined;
  }
  return { index, entry, body };
}

function isIndex(value: unknown): value is number {
  return Number.isSafeInteger(value) && Number(value) >= 0;
}

/** One line of a file of exported events. `entry` and `body` are in their RFC 8785 form: the bytes that are hashed. */
export function formatExported(index: number, entry: string, body: string | null): string {
  return `{"index":${String(index)},"entry":${entry},"body":${body ?? 'null'}}`;
}
