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
  WebStandardStreamableHTTPServerTransport,
  type McpServer,
  type ServerNotifier,
} from '@modelcontextprotocol/server';

type Create = (notifier: () => ServerNotifier) => McpServer;

/** Serves all versions of MCP that the SDK knows on a port of this machine. `notifier` tells the clients without a session. */
export function serveHttp(port: number, create: Create): void {
  const respond = responderOf(create);
  createServer((incoming, outgoing) => {
    const answer = async (): Promise<void> => {
      const { request, body } = await requestOf(incoming, port);
      const refused = hostHeaderValidationResponse(request, localhostAllowedHostnames());
      const response = refused ?? (await respond(request, body));
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
}

function responderOf(create: Create): (request: Request, body: unknown) => Promise<Response> {
  /** Those that began with `initialize`, by the id of their session. */
  const sessions = new Map<string, WebStandardStreamableHTTPServerTransport>();
  const createMcp = (): McpServer => create(() => withoutSessions.notify);
  /** From version 2026-07-28 on each request stands alone. */
  const withoutSessions = createMcpHandler(createMcp);
  const begin = async (request: Request, parsedBody: unknown): Promise<Response> => {
    const transport = new WebStandardStreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (id) => void sessions.set(id, transport),
      onsessionclosed: (id) => void sessions.delete(id),
    });
    await createMcp().connect(transport);
    return transport.handleRequest(request, { parsedBody });
  };
  return async (request, parsedBody) => {
    if (!isOfSession(request, parsedBody)) return withoutSessions.fetch(request, { parsedBody });
    const id = request.headers.get('mcp-session-id');
    const session = sessions.get(id ?? '');
    if (session !== undefined) return session.handleRequest(request, { parsedBody });
    return id === null && isInitializeRequest(parsedBody) ? begin(request, parsedBody) : noSession(id === null);
  };
}

function isOfSession(request: Request, body: unknown): boolean {
  const inbound = {
    httpMethod: request.method,
    ...headerOf(request, 'mcp-protocol-version', 'protocolVersionHeader'),
    ...headerOf(request, 'mcp-method', 'mcpMethodHeader'),
    body,
  };
  return classifyInboundRequest(inbound).kind === 'legacy';
}

function noSession(isNameless: boolean): Response {
  const error = { code: -32_000, message: 'no such session' };
  return Response.json({ jsonrpc: '2.0', id: null, error }, { status: isNameless ? 400 : 404 });
}

function headerOf(request: Request, header: string, name: string): Record<string, string> {
  const value = request.headers.get(header);
  return value === null ? {} : { [name]: value };
}

async function requestOf(incoming: IncomingMessage, port: number): Promise<{ request: Request; body: unknown }> {
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
