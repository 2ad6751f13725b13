import { createMCPClient, StdioMCPTransport } from '../../../../adapters/ai-sdk/conformance/mcp-client.js';
import { MultiServerMCPClient } from '../../../../adapters/langchain/conformance/mcp-client.js';
import { MCPServerStdio } from '../../../../adapters/openai-agents/conformance/mcp-client.js';
import { textOf } from '../mcp-client.js';
import type { Connect } from './tried-client.js';

/** The client of MCP that comes with the AI SDK. */
export const connectAiSdk: Connect = async ({ command, args, env }) => {
  const transport = new StdioMCPTransport({ command, args: [...args], env, stderr: 'inherit' });
  const client = await createMCPClient({ transport });
  return {
    list: async () => Object.keys(await client.tools()),
    call: async (name, args) => textOf(await client.callTool({ name, arguments: { ...args } })),
    close: () => client.close(),
  };
};

/** The client of MCP that comes with the OpenAI Agents SDK. */
export const connectOpenAiAgents: Connect = async ({ command, args, env }) => {
  const server = new MCPServerStdio({ command, args: [...args], env });
  await server.connect();
  return {
    list: async () => (await server.listTools()).map(({ name }) => name),
    call: async (name, args) => textOf({ content: await server.callTool(name, { ...args }) }),
    close: () => server.close(),
  };
};

/** The client of MCP that comes with LangChain. Its tools exist after it has listed them. */
export const connectLangchain: Connect = async ({ command, args, env }) => {
  const server = { transport: 'stdio' as const, command, args: [...args], env, stderr: 'inherit' as const };
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
