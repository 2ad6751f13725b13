export { openGate } from './gate.js';
export type { Gate } from './gate.js';
export type { GateOptions } from './gated-calls.js';
export { openStdioGate } from './stdio.js';
export type { ServerCommand } from './stdio.js';
export type { Wire } from './wire.js';
