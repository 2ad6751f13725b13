/** A figure that noise does not move, and the most that it may be. */
export interface Count {
  readonly name: string;
  readonly value: number;
  readonly most: number;
}

/** Sets the exit code when a count is over its limit; an unreadable count (no /proc) is reported and skipped. */
export function checkCounts(counts: readonly Count[]): void {
  for (const { name, value, most } of counts) {
    if (Number.isNaN(value)) console.error(`bench: ${name} cannot be read on this system`);
    if (!(value > most)) continue;
    console.error(`bench: ${name} is ${value.toFixed(3)}, more than ${String(most)}`);
    process.exitCode = 1;
  }
}
