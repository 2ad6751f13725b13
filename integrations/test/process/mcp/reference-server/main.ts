// The server that the official conformance suite tries, directly and behind the gate: `main.ts <port>`, on the official SDK.
import { McpServer, type ServerNotifier } from '@modelcontextprotocol/server';
import { addAskingTools, requestStates } from './asking-tools.ts';
import { addElicitingTools } from './eliciting-tools.ts';
import { addPrompts } from './prompts.ts';
import { addResources } from './resources.ts';
import { serveHttp } from './serve-http.ts';
import { addTools } from './tools.ts';

function create(notifier: () => ServerNotifier): McpServer {
  const capabilities = {
    tools: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    prompts: { listChanged: true },
    logging: {},
    completions: {},
  };
  const requestState = { verify: requestStates.verify };
  const mcp = new McpServer({ name: 'reference', version: '1' }, { capabilities, requestState });
  addTools(mcp, notifier);
  addElicitingTools(mcp);
  addAskingTools(mcp);
  addResources(mcp);
  addPrompts(mcp);
  mcp.server.setRequestHandler('completion/complete', () => ({ completion: { values: [], total: 0, hasMore: false } }));
  return mcp;
}

serveHttp(Number(process.argv[2]), create);
