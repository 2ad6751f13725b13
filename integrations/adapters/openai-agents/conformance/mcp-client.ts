// The client of MCP of this framework, for the tests of the MCP gate: the framework is installed for its adapter alone.
export { MCPServerStdio, MCPServerStreamableHttp } from '@openai/agents';
