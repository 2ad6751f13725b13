import { childEnvironment } from '@countersign/worker-sdk';
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js';
import { STDIO_DEFAULT_MAX_BUFFER_SIZE } from '@modelcontextprotocol/sdk/shared/stdio.js';
import { createLimitedFetch } from './limited-fetch.js';
import { createRemoteRequests, resumptionsMax, SessionLostError } from './remote-requests.js';
import { createStatelessFetch } from './stateless-fetch.js';
import type { Wire } from '../wire.js';

/** A server that the gate starts. */
export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** The environment of the gate. The server does not get the gate's own settings, which hold tokens. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** The connection to a server that is started as a process, and ends with it. */
export function commandServer({ command, args, env }: ServerCommand): Wire {
  return new StdioClientTransport({ command, args: [...args], env: childEnvironment(env) });
}

/** The defaults of the SDK, stated because a request is lost after the last attempt. */
const reconnectionOptions = {
  initialReconnectionDelay: 1_000,
  maxReconnectionDelay: 30_000,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: resumptionsMax,
};

/** The limits of a server that runs elsewhere. */
export interface RemoteLimits {
  /** The largest message, in bytes. Default: 10 MiB, the limit of the MCP SDK for a server that the gate starts. */
  readonly bytesMax?: number;
  /** A stream that is not resumed within this time is lost. Default: 5 minutes. */
  readonly resumptionMs?: number;
}

/**
 * The connection to a server that runs elsewhere, over streamable HTTP. It ends when a message of the server is too large,
 * and when the server does not know the session any more.
 * `send` rejects when a request can no longer get a response.
 *
 * @param authorization the header of this name.
 */
export function remoteServer(
  url: URL,
  authorization: string | undefined,
  { bytesMax = STDIO_DEFAULT_MAX_BUFFER_SIZE, resumptionMs = 300_000 }: RemoteLimits = {},
): Wire {
  const headers = authorization === undefined ? {} : { authorization };
  const endWith = (error: Error): void => {
    wire.onerror?.(error);
    void transport.close();
  };
  const fetchLimited = createLimitedFetch(bytesMax, endWith);
  const requests = createRemoteRequests(fetchLimited, resumptionMs);
  const stateless = createStatelessFetch(requests.fetch);
  const transport = new StreamableHTTPClientTransport(url, {
    requestInit: { headers },
    fetch: stateless.fetch,
    reconnectionOptions,
  });
  const wire: Wire = {
    // Each request is one of HTTP.
    takesAnyRequest: true,
    start: () => {
      transport.onmessage = (message) => {
        requests.received(message);
        wire.onmessage?.(stateless.received(message));
      };
      transport.onerror = (error) => wire.onerror?.(error);
      transport.onclose = () => wire.onclose?.();
      return transport.start();
    },
    send: async (message) => {
      if (stateless.cancel(message)) return;
      try {
        await requests.send(message, (onresumptiontoken) => transport.send(message, { onresumptiontoken }));
      } catch (error) {
        // Afterwards, so that the request itself fails for this reason. Its client begins again with a new session.
        if (error instanceof SessionLostError) setImmediate(endWith, error);
        throw error;
      }
    },
    setProtocolVersion: (version) => {
      transport.setProtocolVersion(version);
    },
    close: () => transport.close(),
  };
  return wire;
}
