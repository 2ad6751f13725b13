export { createRelayMetrics } from './metrics.js';
export type { RelayMetrics } from './metrics.js';
export { createRelay } from './relay.js';
export type { Relay, RelayHealth } from './relay.js';
export type { RelayOptions } from './relay-options.js';
export type { RelayStatus } from './relay-status.js';
