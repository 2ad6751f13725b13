export { openGate } from './gate.js';
export type { Gate } from './gate.js';
export type { GateOptions } from './gated-calls.js';
export { openHttpGate } from './http.js';
export type { HttpGate, HttpGateOptions } from './http.js';
export { commandServer, remoteServer } from './servers.js';
export type { ServerCommand } from './servers.js';
export { openStdioGate } from './stdio.js';
export type { Wire } from './wire.js';
