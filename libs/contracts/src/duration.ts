const unitsMs: Readonly<Record<string, number>> = { s: 1000, m: 60_000, h: 3_600_000, d: 86_400_000 };

/** The milliseconds of `30s`, `10m`, `2h` or `3d`; `undefined` for anything else. */
export function parseDurationMs(text: string): number | undefined {
  const match = /^([1-9][0-9]{0,5})([smhd])$/.exec(text);
  const unit = unitsMs[match?.[2] ?? ''];
  return match === null || unit === undefined ? undefined : Number(match[1]) * unit;
}
