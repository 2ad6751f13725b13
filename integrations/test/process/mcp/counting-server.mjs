// An MCP server with one tool, `pay`: it writes a line into the file of its argument, and then it hangs, takes
// two seconds or ends when told so.
import { appendFileSync } from 'node:fs';
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { z } from 'zod';

const [file, mode] = process.argv.slice(2);
const server = new McpServer({ name: 'counting', version: '1' });
server.registerTool('pay', { inputSchema: { euros: z.number() } }, async ({ euros }) => {
  appendFileSync(file, `paid ${euros}\n`);
  if (mode === 'end') process.exit(0);
  if (mode === 'hang') await new Promise(() => undefined);
  if (mode === 'slow') await new Promise((resolve) => setTimeout(resolve, 2_000));
  return { content: [{ type: 'text', text: `paid ${euros}` }] };
});
await server.connect(new StdioServerTransport());
