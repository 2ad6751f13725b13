export { readStandaloneConfig } from './config.js';
export { main, printConfig } from './main.js';
export { openParts } from './parts.js';
export type { Parts } from './parts.js';
