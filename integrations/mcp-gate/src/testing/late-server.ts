import { InMemoryTransport } from '@modelcontextprotocol/sdk/inMemory.js';
import { isJSONRPCRequest, type JSONRPCMessage } from '@modelcontextprotocol/sdk/types.js';
import { objectOf, type Wire } from '../wire.js';

/** A server that replies to each request after the time that its arguments name, also when it was cancelled. */
export interface LateServer {
  readonly wire: Wire;
  /** The requests that it has got, without those of its session. */
  readonly heard: JSONRPCMessage[];
}

type Members = Readonly<Record<string, unknown>>;

/** Its tools `gated` and `free`, and its prompt, give back the text that they get. */
export function createLateServer(): LateServer {
  const [wire, ofServer] = InMemoryTransport.createLinkedPair();
  const heard: JSONRPCMessage[] = [];
  const send = (message: object): void => {
    ofServer.send({ jsonrpc: '2.0', ...message } as JSONRPCMessage).catch(() => undefined);
  };
  const echo = (id: unknown, text: unknown, progressToken: unknown): void => {
    if (progressToken !== undefined) {
      const params = { progressToken, progress: 1, message: text };
      send({ method: 'notifications/progress', params });
    }
    send({ id, result: { content: [{ type: 'text', text }], messages: [] } });
  };
  const tools = ['gated', 'free'].map((name) => ({ name, inputSchema: { type: 'object' } }));
  const results: Readonly<Record<string, Members>> = {
    initialize: {
      ...{ protocolVersion: '2025-03-26', capabilities: { tools: {}, prompts: {} } },
      serverInfo: { name: 'late', version: '1' },
    },
    'tools/list': { tools },
  };
  ofServer.onmessage = (message) => {
    if (!isJSONRPCRequest(message)) return;
    const { id, method, params } = message;
    const result = results[method];
    if (result !== undefined) {
      send({ id, result });
      return;
    }
    heard.push(message);
    const { text, waitMs } = objectOf(objectOf(params)['arguments']);
    const { progressToken } = objectOf(params?._meta);
    if (waitMs === 0) echo(id, text, progressToken);
    else setTimeout(echo, Number(waitMs), id, text, progressToken);
  };
  void ofServer.start();
  return { wire, heard };
}
