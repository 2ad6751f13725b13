export { openAgentPool, type AgentPool } from './agent-pool.js';
export type { AgentCommand } from './agent-process.js';
export { connectKit, type Kit } from './connect-kit.js';
export type { LedgerAddress } from './ledger.js';
export type { AgentEvent, AgentStart, Capabilities, Rest, ScriptedCall, ToolReply, Use } from './protocol.js';
export { scenarios, scenariosFor, tryScenario } from './run.js';
export type { Scenario } from './scenarios/scenario.js';
export { startKitServer, type KitServer } from './server.js';
export type { AgentUnderTest } from './session.js';
