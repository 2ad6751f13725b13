// The client of MCP of this framework, for the tests of the MCP gate: the framework is installed for its adapter alone.
export { createMCPClient } from '@ai-sdk/mcp';
export { StdioMCPTransport } from '@ai-sdk/mcp/mcp-stdio';
