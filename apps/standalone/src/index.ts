export { readStandaloneConfig } from './config.js';
export { main, printConfig } from './main.js';
export { openStores } from './open-stores.js';
export type { Stores } from './open-stores.js';
export { openCountersign } from './open-countersign.js';
export type { Countersign } from './open-countersign.js';
export { startStandalone as openStandalone } from './standalone.js';
