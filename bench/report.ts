import { readFileSync } from 'node:fs';
import { cpus, totalmem } from 'node:os';

/** The machine of the figures. */
export function describeMachine(): Readonly<Record<string, string>> {
  const [cpu] = cpus();
  return {
    machine: `${cpu?.model.trim() ?? 'unknown'}, ${String(cpus().length)} cores, ${String(Math.round(totalmem() / 2 ** 30))} GiB`,
    kernel: kernel(),
    node: process.version,
    durability: 'SQLite WAL, synchronous=FULL: one flush (fdatasync) per commit, before any answer',
    load: 'the load generator runs on the same machine, in a process of its own',
  };
}

function kernel(): string {
  try {
    return readFileSync('/proc/version', 'utf8').split(' ').slice(0, 3).join(' ');
  } catch {
    return process.platform;
  }
}

/** A table for a terminal: columns as wide as what is in them, figures to the right. */
export function table(header: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = header.map((name, column) => Math.max(name.length, ...rows.map((row) => row[column]?.length ?? 0)));
  const line = (cells: readonly string[]): string =>
    cells
      .map((cell, column) => (column === 0 ? cell.padEnd(widths[0] ?? 0) : cell.padStart(widths[column] ?? 0)))
      .join('  ');
  return [line(header), widths.map((width) => '-'.repeat(width)).join('  '), ...rows.map(line)].join('\n');
}

/** A figure with as many digits as say something. */
export function figure(value: number): string {
  if (!Number.isFinite(value)) return 'n/a';
  if (Math.abs(value) >= 1000) return Math.round(value).toLocaleString('en-US');
  return Math.abs(value) >= 10 ? value.toFixed(1) : value.toFixed(3);
}
