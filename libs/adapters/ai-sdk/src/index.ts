export { gateTools } from './gate-tools.js';
export type { Gate, GatedRun, GatedTools, Gates, RunOptions, ToolGate } from './gate-tools.js';
export { NotApprovedError } from '@countersign/worker-sdk';
export type { NotedOutput } from './gated-call.js';
export type { Limits, Resumed } from './resume.js';
