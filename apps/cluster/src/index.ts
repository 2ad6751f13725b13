export { printableRoleConfig, readRoleConfig, readTopicsConfig, roles } from './config.js';
export type { KafkaConfig, RequestsConfig, Role, RoleConfig } from './config.js';
export { main, printConfig } from './main.js';
export { createTokens } from './tokens.js';
export { dropKnownWarnings } from './warnings.js';
