import { createMCPClient, StdioMCPTransport } from '../../../../adapters/ai-sdk/conformance/mcp-client.js';
import { MultiServerMCPClient } from '../../../../adapters/langchain/conformance/mcp-client.js';
import { MCPServerStdio, MCPServerStreamableHttp } from '../../../../adapters/openai-agents/conformance/mcp-client.js';
import { textOf } from '../mcp-client.js';
import type { Connect, Launch } from './tried-client.js';

/** The client of MCP that comes with the AI SDK. */
export const connectAiSdk: Connect = async (place) => {
  const transport =
    'url' in place
      ? { type: 'http' as const, url: place.url }
      : new StdioMCPTransport({ ...stdio(place), stderr: 'inherit' });
  const client = await createMCPClient({ transport });
  return {
    list: async () => Object.keys(await client.tools()),
    call: async (name, args) => textOf(await client.callTool({ name, arguments: { ...args } })),
    close: () => client.close(),
  };
};

/** The client of MCP that comes with the OpenAI Agents SDK. */
export const connectOpenAiAgents: Connect = async (place) => {
  const server = 'url' in place ? new MCPServerStreamableHttp({ url: place.url }) : new MCPServerStdio(stdio(place));
  await server.connect();
  return {
    list: async () => (await server.listTools()).map(({ name }) => name),
    call: async (name, args) => textOf({ content: await server.callTool(name, { ...args }) }),
    close: () => server.close(),
  };
};

/** The client of MCP that comes with LangChain. Its tools exist after it has listed them. */
export const connectLangchain: Connect = async (place) => {
  const server =
    'url' in place
      ? { transport: 'http' as const, url: place.url }
      : { transport: 'stdio' as const, ...stdio(place), stderr: 'inherit' as const };
  const client = new MultiServerMCPClient({ mcpServers: { server } });
  const tools = await client.getTools();
  return {
    list: async () => tools.map(({ name }) => name),
    call: async (name, args) => {
      try {
        return String(await tools.find((tool) => tool.name === name)?.invoke({ ...args }));
      } catch (error) {
        // It throws the texts of an error result, and the agent gives them to the model.
        if (!(error instanceof Error) || error.name !== 'ToolException') throw error;
        return error.message.replace(/^MCP tool .*? returned an error: /, '');
      }
    },
    close: () => client.close(),
  };
};

function stdio({ command, args, env }: Launch) {
  return { command, args: [...args], env };
}
