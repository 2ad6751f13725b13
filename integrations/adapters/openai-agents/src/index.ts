export { NotApprovedError } from '@countersign/worker-sdk';
export { gateTools } from './gate-tools.js';
export type { RunMembers as RunOptions } from '@countersign/worker-sdk';
export type { Gate, GatedRun } from './gate-tools.js';
export { gatedAgentTool } from './agent-tool.js';
export type { GatedAgentTool, GatedAgentToolOptions } from './agent-tool.js';
export { gatedTool } from './gated-tool.js';
export type { FrameworkContext, FrameworkOptions, GatedTool, GatedToolOptions, NeedsApproval } from './gated-tool.js';
export type { Limits, Resumed } from './resume.js';
