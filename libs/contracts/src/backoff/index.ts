export { backoffMs } from './backoff.js';
export type { Backoff } from './backoff.js';
