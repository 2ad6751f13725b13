/** A recorded time for people: `2026-11-22 10:00:00 UTC`. */
export function timeWords(time: string): string {
  return time.replace('T', ' ').replace(/(?:\.\d+)?Z$/, ' UTC');
}
