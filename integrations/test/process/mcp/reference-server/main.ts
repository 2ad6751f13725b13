// The server that the official conformance suite tries, directly and behind the gate: `main.ts <port>`, on the official SDK.
import { randomUUID } from 'node:crypto';
import { createServer, type IncomingMessage } from 'node:http';
import { Readable } from 'node:stream';
import { text } from 'node:stream/consumers';
import {
  classifyInboundRequest,
  createMcpHandler,
  hostHeaderValidationResponse,
  isInitializeRequest,
  localhostAllowedHostnames,
  McpServer,
  WebStandardStreamableHTTPServerTransport,
} from '@modelcontextprotocol/server';
import { addAskingTools, requestStates } from './asking-tools.ts';
import { addElicitingTools } from './eliciting-tools.ts';
import { addPrompts } from './prompts.ts';
import { addResources } from './resources.ts';
import { addTools } from './tools.ts';

const port = Number(process.argv[2]);
/** Those that began with `initialize`, by the id of their session. */
const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
/** From version 2026-07-28 on each request stands alone. */
const withoutSessions = createMcpHandler(create);

function create(): McpServer {
  const capabilities = {
    tools: { listChanged: true },
    resources: { subscribe: true, listChanged: true },
    prompts: { listChanged: true },
    logging: {},
    completions: {},
  };
  const requestState = { verify: requestStates.verify };
  const mcp = new McpServer({ name: 'reference', version: '1' }, { capabilities, requestState });
  addTools(mcp, () => withoutSessions.notify);
  addElicitingTools(mcp);
  addAskingTools(mcp);
  addResources(mcp);
  addPrompts(mcp);
  mcp.server.setRequestHandler('completion/complete', () => ({ completion: { values: [], total: 0, hasMore: false } }));
  return mcp;
}

/** Begins a session. */
async function begin(request: Request, parsedBody: unknown): Promise<Response> {
  const transport = new WebStandardStreamableHTTPServerTransport({
    sessionIdGenerator: randomUUID,
    onsessioninitialized: (id) => void sessions.set(id, transport),
    onsessionclosed: (id) => void sessions.delete(id),
  });
  await create().connect(transport);
  return transport.handleRequest(request, { parsedBody });
}

async function respond(request: Request, body: unknown): Promise<Response> {
  const { kind } = classifyInboundRequest({
    httpMethod: request.method,
    ...headerOf(request, 'mcp-protocol-version', 'protocolVersionHeader'),
    ...headerOf(request, 'mcp-method', 'mcpMethodHeader'),
    body,
  });
  if (kind !== 'legacy') return withoutSessions.fetch(request, { parsedBody: body });
  const id = request.headers.get('mcp-session-id');
  const session = sessions.get(id ?? '');
  if (session !== undefined) return session.handleRequest(request, { parsedBody: body });
  return id === null && isInitializeRequest(body)
    ? begin(request, body)
    : Response.json(
        { jsonrpc: '2.0', id: null, error: { code: -32_000, message: 'no such session' } },
        { status: id === null ? 400 : 404 },
      );
}

function headerOf(request: Request, header: string, name: string): Record<string, string> {
  const value = request.headers.get(header);
  return value === null ? {} : { [name]: value };
}

async function requestOf(incoming: IncomingMessage): Promise<{ request: Request; body: unknown }> {
  const { method = 'GET', headers, url = '/' } = incoming;
  const written = method === 'POST' ? await text(incoming) : '';
  const given = new Headers();
  for (const [name, value] of Object.entries(headers)) given.set(name, String(value));
  const init = { method, headers: given, ...(written === '' ? {} : { body: written }) };
  return { request: new Request(new URL(url, `http://127.0.0.1:${port}`), init), body: parse(written) };
}

function parse(written: string): unknown {
  try {
    return JSON.parse(written);
  } catch {
    return undefined;
  }
}

createServer((incoming, outgoing) => {
  const answer = async (): Promise<void> => {
    const { request, body } = await requestOf(incoming);
    const response =
      hostHeaderValidationResponse(request, localhostAllowedHostnames()) ?? (await respond(request, body));
    outgoing.writeHead(response.status, Object.fromEntries(response.headers));
    // A client that waits for events wants to see that its stream is open.
    outgoing.flushHeaders();
    if (response.body === null) outgoing.end();
    else
      Readable.fromWeb(response.body)
        .on('error', () => outgoing.destroy())
        .pipe(outgoing);
  };
  answer().catch((error: unknown) => {
    process.stderr.write(`${String(error)}\n`);
    outgoing.destroy();
  });
}).listen(port, '127.0.0.1');
