// An MCP server on an official SDK: `paying-server.ts <1 or 2> <file>`, and for HTTP on version 2 a port. Its tool `pay` adds a line
// to the file.
import { appendFileSync, readFileSync } from 'node:fs';
import { z } from 'zod';

interface Tools {
  readonly registerTool: (
    name: string,
    config: { readonly inputSchema: z.ZodObject; readonly annotations?: { readonly readOnlyHint: boolean } },
    run: (args: Readonly<Record<string, unknown>>) => { content: [{ type: 'text'; text: string }] },
  ) => unknown;
}

const [sdk, file = '', port] = process.argv.slice(2);
const identity = { name: 'paying', version: '1' };

function addTools(server: Tools): void {
  const said = (text: string) => ({ content: [{ type: 'text', text }] as [{ type: 'text'; text: string }] });
  server.registerTool('pay', { inputSchema: z.object({ to: z.string() }) }, ({ to }) => {
    appendFileSync(file, `${String(to)}\n`);
    return said(`paid ${String(to)}`);
  });
  const annotations = { readOnlyHint: true };
  server.registerTool('payments', { inputSchema: z.object({}), annotations }, () => said(readFileSync(file, 'utf8')));
}

if (sdk === '1') {
  const { McpServer } = await import('@modelcontextprotocol/sdk/server/mcp.js');
  const { StdioServerTransport } = await import('@modelcontextprotocol/sdk/server/stdio.js');
  const server = new McpServer(identity);
  addTools(server);
  await server.connect(new StdioServerTransport());
} else {
  const { McpServer } = await import('@modelcontextprotocol/server');
  const create = () => {
    const server = new McpServer(identity);
    addTools(server);
    return server;
  };
  if (port === undefined) (await import('@modelcontextprotocol/server/stdio')).serveStdio(create);
  else (await import('../reference-server/serve-http.ts')).serveHttp(Number(port), create);
}
