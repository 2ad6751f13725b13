import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type RequestId,
} from '@modelcontextprotocol/sdk/types.js';
import { encoded } from '../stateless/http-headers.js';
import { headerArgumentsOf, paramHeadersOf, type HeaderArgument } from '../stateless/param-headers.js';
import { metaNames, namedBy } from '../stateless/protocol.js';
import { cancelledBy, isReply, objectOf } from '../wire.js';

/** What stateless requests need of a transport that was made for sessions. */
export interface StatelessFetch {
  /** Adds the headers that repeat the body, and reads an error in a response that is no success. */
  readonly fetch: typeof fetch;
  /** Cancels the request that a message cancels, by the end of its response; returns whether it was a stateless one. */
  readonly cancel: (message: JSONRPCMessage) => boolean;
  /** Returns a message of the server without the tools that cannot be called over HTTP. */
  readonly received: (message: JSONRPCMessage) => JSONRPCMessage;
}

export function createStatelessFetch(send: typeof fetch): StatelessFetch {
  const open = new Map<RequestId, { readonly method: string; readonly ending: AbortController }>();
  const marked = new Map<unknown, readonly HeaderArgument[]>();

  const headersOf = ({ method, params = {} }: JSONRPCRequest, given: RequestInit['headers']): Headers => {
    const headers = new Headers(given);
    headers.delete('mcp-session-id');
    headers.set('MCP-Protocol-Version', String(objectOf(params['_meta'])[metaNames.version]));
    headers.set('Mcp-Method', method);
    const name = params[namedBy[method] ?? ''];
    if (typeof name === 'string') headers.set('Mcp-Name', encoded(name));
    const repeated = method === 'tools/call' ? paramHeadersOf(marked.get(name) ?? [], params['arguments']) : {};
    for (const [header, value] of Object.entries(repeated)) headers.set(header, value);
    return headers;
  };
  return {
    fetch: async (input, init) => {
      const request = statelessRequestIn(init);
      if (request === undefined) return send(input, init);
      const ending = new AbortController();
      open.set(request.id, { method: request.method, ending });
      const signal = init?.signal ? AbortSignal.any([init.signal, ending.signal]) : ending.signal;
      const response = await send(input, { ...init, headers: headersOf(request, init?.headers), signal });
      return response.ok ? response : readError(response, request.id);
    },
    cancel: (message) => {
      const id = cancelledBy(message);
      const request = id === undefined ? undefined : open.get(id);
      request?.ending.abort(new Error('the client has cancelled the request'));
      return request !== undefined;
    },
    received: (message) => {
      if (!isReply(message) || message.id === undefined) return message;
      const method = open.get(message.id)?.method;
      open.delete(message.id);
      if (method !== 'tools/list' || !('result' in message)) return message;
      const { tools } = message.result;
      if (!Array.isArray(tools)) return message;
      const callable = tools.filter((tool: unknown) => {
        const { name, inputSchema } = objectOf(tool);
        const found = headerArgumentsOf(inputSchema);
        marked.set(name, found ?? []);
        return found !== undefined;
      });
      return { ...message, result: { ...message.result, tools: callable } };
    },
  };
}

function statelessRequestIn(init: RequestInit | undefined): JSONRPCRequest | undefined {
  if (init?.method !== 'POST' || typeof init.body !== 'string') return undefined;
  const message: unknown = JSON.parse(init.body);
  if (!isJSONRPCRequest(message)) return undefined;
  return metaNames.version in objectOf(message.params?._meta) ? message : undefined;
}

/** An error of JSON-RPC is a reply, whatever the status is. */
async function readError(response: Response, id: RequestId): Promise<Response> {
  const text = await response.text();
  const isError = (): boolean => {
    try {
      const message = objectOf(JSON.parse(text));
      return message['id'] === id && 'error' in message;
    } catch {
      return false;
    }
  };
  const { status, statusText } = response;
  if (!isError()) return new Response(text, { status, statusText, headers: response.headers });
  return new Response(text, { status: 200, headers: { 'content-type': 'application/json' } });
}
