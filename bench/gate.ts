/** A figure that noise moves little, and the most that it may be. */
export interface Count {
  readonly name: string;
  readonly value: number;
  readonly most: number;
  /**
   * The most in a smoke run, when it is another. A smoke run measures for a second or two while tests run on the same processors:
   * what a process does by the second weighs more in each of few cycles, and slow commands meet and read again.
   */
  readonly mostInSmoke?: number;
}

/** Sets the exit code when a count is over its limit; an unreadable count (no /proc) is reported and skipped. */
export function checkCounts(counts: readonly Count[], { smoke }: { readonly smoke: boolean }): void {
  for (const { name, value, most: usual, mostInSmoke } of counts) {
    const most = smoke ? (mostInSmoke ?? usual) : usual;
    if (Number.isNaN(value)) console.error(`bench: ${name} cannot be read on this system`);
    if (!(value > most)) continue;
    console.error(`bench: ${name} is ${value.toFixed(3)}, more than ${String(most)}`);
    process.exitCode = 1;
  }
}
