const unitsMs = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 } as const;

/** The milliseconds of `30s`, `5m`, `2h` or `3d`; undefined for anything else. */
export function durationMsOf(text: string): number | undefined {
  const [, count, unit] = /^([1-9]\d{0,5})([smhd])$/.exec(text) ?? [];
  return count === undefined || unit === undefined ? undefined : Number(count) * unitsMs[unit as keyof typeof unitsMs];
}
