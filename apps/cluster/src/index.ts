export { createPeople, createTokensFile, readTokens, TokensError } from '@countersign/gateway';
export { readTopicsConfig, roles } from './config.js';
export type { Role } from './config.js';
export { toConnection } from './kafka-connection.js';
export { main, printConfig } from './main.js';
