/**
 * Returns a table as CSV (RFC 4180), with a header. A spreadsheet would run a text that begins with `=`, `+`, `-`, `@`, a
 * tab or a carriage return as a formula, so such a text gets an apostrophe in front.
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
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
