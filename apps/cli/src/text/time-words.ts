/** A recorded time for people: `2026-11-22 10:00:00.123Z`. */
export function timeWords(time: string): string {
  return time.replace('T', ' ');
}
