import { cellsOf, eventColumns } from './columns.js';
import type { Cell } from './columns.js';
import type { EventPages } from './pages.js';

/** Most cells: neither a formula nor a text with a separator, seen in one look. */
const plain = /^[\w{[][^",;|\t\r\n]*$/;

/**
 * Returns a table as CSV (RFC 4180), with a header. A spreadsheet would run a text that begins with `=`, `+`, `-` or `@`, also in
 * full width or after white space, as a formula, so such a text gets an apostrophe in front. A text with a separator of
 * other spreadsheets is quoted, so that none of its parts is such a text.
 */
export function toCsv(columns: readonly string[], rows: readonly Readonly<Record<string, Cell>>[]): string {
  const lines = rows.map((row) => csvLine(columns.map((column) => row[column] ?? null)));
  return [csvLine(columns), ...lines].join('');
}

/** One line of a table, with its end. */
export function csvLine(cells: readonly Cell[]): string {
  let line = '';
  let comma = '';
  for (const cell of cells) {
    line += comma + textOf(cell);
    comma = ',';
  }
  return `${line}\r\n`;
}

/** The first line of a table of events. */
export const csvHeader: string = csvLine(eventColumns.map(({ name }) => name));

/** The table of events as CSV, in pieces: the header, then each page. */
export async function* csvOf(pages: EventPages): AsyncGenerator<string, void> {
  yield csvHeader;
  for await (const page of pages) yield page.map((event) => csvLine(cellsOf(event))).join('');
}

function textOf(value: Cell): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  if (plain.test(value)) return value;
  // Most of the others are JSON texts, which begin no formula.
  if (value.startsWith('{"')) return quoted(value);
  const text = /^(?:[\t\r]|\s*[=+\-@＝＋－＠])/.test(value) ? `'${value}` : value;
  return /[",;|\t\r\n]/.test(text) ? quoted(text) : text;
}

function quoted(text: string): string {
  return `"${text.replaceAll('"', '""')}"`;
}
