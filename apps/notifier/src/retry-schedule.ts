const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** The pauses between the tries of one message: the first comes soon, all together make three days. */
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

/** The pause after so many failed tries of one message; undefined: it is given up. */
export function pauseAfter(attempts: number): number | undefined {
  return pausesMs[attempts - 1];
}

/** How long ago something may have ended and still be news. */
export const newsAgeMsMax = 72 * hour;
