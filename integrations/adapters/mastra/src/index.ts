export { gateTools } from './gate-tools.js';
export type { RunMembers as RunOptions } from '@countersign/worker-sdk';
export type { Failure, Gate, GatedRun, Suspension } from './gate-tools.js';
export { gatedTool } from './gated-tool.js';
export type { FrameworkContext, FrameworkOptions, GatedTool, GatedToolOptions } from './gated-tool.js';
