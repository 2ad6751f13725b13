export { HookInputError } from './agent.js';
export type { AgentCall, AgentEnd, CodingAgent, Decision, HookAnswer } from './agent.js';
export { agentNames, codingAgents } from './agents/agents.js';
export type { AgentName } from './agents/agents.js';
export { afterTool, beforeTool } from './hook.js';
export type { HookRun } from './hook.js';
export type { Marks } from './marks.js';
export type { HookOptions } from './options.js';
