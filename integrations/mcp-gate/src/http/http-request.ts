import type { IncomingMessage, ServerResponse } from 'node:http';

/** A request that the gate refuses. */
export class HttpRefusal extends Error {
  override readonly name = 'HttpRefusal';
  constructor(
    readonly status: number,
    message: string,
  ) {
    super(message);
  }
}

/** The limit of the MCP SDK's own server. */
const bodyBytesMax = 4 * 1024 * 1024;

/**
 * Throws unless the request names this machine. The attack: a page in a browser sends requests to the port, directly (it
 * then has an origin) or under another name that resolves to 127.0.0.1 (DNS rebinding).
 */
export function checkCaller({ headers: { host, origin } }: Pick<IncomingMessage, 'headers'>, port: number): void {
  const names = ['127.0.0.1', 'localhost'].flatMap((name) => {
    const full = `${name}:${String(port)}`;
    // A client leaves out the default port.
    return port === 80 ? [full, name] : [full];
  });
  if (host === undefined || !names.includes(host.toLowerCase()))
    throw new HttpRefusal(403, 'the Host header is not that of the gate');
  if (origin !== undefined && !names.some((name) => origin === `http://${name}`)) {
    throw new HttpRefusal(403, 'pages of other origins may not use the gate');
  }
}

/** Returns the JSON body, or undefined for a method without one. Throws an `HttpRefusal`. */
export async function readBody(request: IncomingMessage): Promise<unknown> {
  if (request.method !== 'POST') return undefined;
  const chunks: Buffer[] = [];
  let bytes = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    bytes += chunk.length;
    if (bytes > bodyBytesMax) throw new HttpRefusal(413, `a body has at most ${String(bodyBytesMax)} bytes`);
    chunks.push(chunk);
  }
  try {
    return JSON.parse(Buffer.concat(chunks).toString('utf8'));
  } catch {
    throw new HttpRefusal(400, 'the body is not JSON');
  }
}

/** Sends an error. A stream that has begun only ends. */
export function refuse(response: ServerResponse, error: unknown): void {
  if (response.headersSent) {
    response.end();
    return;
  }
  const status = error instanceof HttpRefusal ? error.status : 502;
  const message = error instanceof Error ? error.message : String(error);
  response.writeHead(status, { 'content-type': 'application/json', connection: 'close' });
  response.end(JSON.stringify({ jsonrpc: '2.0', id: null, error: { code: -32000, message } }));
}
