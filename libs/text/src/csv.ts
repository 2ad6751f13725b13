/**
 * Returns a table as CSV (RFC 4180), with a header. A spreadsheet would run a text that begins with `=`, `+`, `-` or `@`, also in
 * full width or after white space, as a formula, so such a text gets an apostrophe in front. A text with a separator of
 * other spreadsheets is quoted, so that none of its parts is such a text.
 */
export function toCsv(
  columns: readonly string[],
  rows: readonly Readonly<Record<string, string | number | null>>[],
): string {
  const lines = rows.map((row) => columns.map((column) => cellOf(row[column] ?? null)).join(','));
  return `${[columns.map(cellOf).join(','), ...lines].join('\r\n')}\r\n`;
}

function cellOf(value: string | number | null): string {
  if (value === null) return '';
  if (typeof value === 'number') return String(value);
  const text = /^(?:[\t\r]|\s*[=+\-@＝＋－＠])/.test(value) ? `'${value}` : value;
  return /[",;|\t\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
