export type { LogTiles, ProvenEvent } from './log-tiles.js';
export { createNotary } from './notary.js';
export type { Notary, NotaryHealth, Signing } from './notary.js';
export { createNotaryCheck } from './notary-check.js';
export { createSharedCheckpoints } from './shared-checkpoints.js';
export type { SharedCheckpoints } from './shared-checkpoints.js';
export { openNotary } from './open-notary.js';
export type { NotaryPlace } from './open-notary.js';
export type { NotaryPorts } from './ports.js';
