export { createCollectingLog, createSilentLog } from './collecting-log.js';
export type { CollectingLog, LogEntry } from './collecting-log.js';
export { createRandom, createSeededIds } from './random.js';
export type { Random } from './random.js';
export { createVirtualClock } from './virtual-clock.js';
export type { VirtualClock } from './virtual-clock.js';
