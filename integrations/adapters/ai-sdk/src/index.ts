export { gateTools } from './gate-tools.js';
export type { RunMembers as RunOptions } from '@countersign/worker-sdk';
export type { Gate, GatedRun, GatedTools, Gates, ToolGate } from './gate-tools.js';
export { NotApprovedError } from '@countersign/worker-sdk';
export type { NotedOutput } from './noted-output.js';
export type { Jsonified, RecordedOutput, UnrecordedOutput } from './recorded-output.js';
export type { Limits, Resumed } from './resume.js';
