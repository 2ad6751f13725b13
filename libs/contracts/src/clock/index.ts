export { systemClock } from './clock.js';
export type { Clock } from './clock.js';
export { startStopwatch } from './stopwatch.js';
export { reasonOf, sleep, sleepOrThrow } from './sleep.js';
