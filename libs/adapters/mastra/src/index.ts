export { gateTools } from './gate-tools.js';
export type { Gate, GatedRun, RunOptions, Suspension } from './gate-tools.js';
export { gatedTool } from './gated-tool.js';
export type { FrameworkContext, GatedTool, GatedToolOptions } from './gated-tool.js';
