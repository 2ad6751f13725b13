export { gateTools } from './gate-tools.js';
export type { Gate, GatedToolOptions, GateToolsOptions } from './gate-tools.js';
export { agentInboxResponses, hitlResponses } from './review.js';
export type { AgentInboxResponse, CountersignInterrupt, HitlDecision, ReviewedCall } from './review.js';
