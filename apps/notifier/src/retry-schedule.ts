const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** The pauses between the tries of one message. The first is short; all together are three days. */
const pausesMs = [
  second,
  5 * second,
  30 * second,
  2 * minute,
  10 * minute,
  30 * minute,
  hour,
  2 * hour,
  4 * hour,
  8 * hour,
  12 * hour,
  20 * hour,
  24 * hour,
];

/** Returns the pause after this many failed tries of one message; undefined: no more tries. */
export function pauseAfter(attempts: number): number | undefined {
  return pausesMs[attempts - 1];
}

/** How long after its end an outcome is still sent. */
export const newsAgeMsMax = 72 * hour;
