export { readStandaloneConfig } from './config.js';
export type { StandaloneConfig } from './config.js';
export { main, printConfig } from './main.js';
export { openParts } from './parts.js';
export type { OutsideWorld, Parts } from './parts.js';
export { OpenToTheWorldError, startStandalone } from './standalone.js';
export type { Standalone } from './standalone.js';
