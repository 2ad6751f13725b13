import { createServer, type IncomingMessage, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Readable } from 'node:stream';

const servers: Server[] = [];

/** For `afterEach`. */
export async function closeHttpServers(): Promise<void> {
  for (const server of servers.splice(0)) {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  }
}

/** Serves a handler of the Fetch API, such as that of the MCP SDK 2, at a free port. `seen` has the headers of each POST. */
export async function serveHttp(
  handle: (request: Request) => Promise<Response>,
): Promise<{ readonly url: URL; readonly seen: IncomingMessage['headers'][] }> {
  const seen: IncomingMessage['headers'][] = [];
  const server = createServer((incoming, response) => {
    const leaving = new AbortController();
    response.once('close', () => {
      leaving.abort();
    });
    const answer = async (): Promise<void> => {
      if (incoming.method === 'POST') seen.push(incoming.headers);
      const body = await new Response(Readable.toWeb(incoming) as never).text();
      const init = {
        method: incoming.method ?? 'GET',
        headers: incoming.headers as Record<string, string>,
        signal: leaving.signal,
      };
      const given = await handle(
        new Request(`http://localhost${incoming.url ?? '/'}`, body === '' ? init : { ...init, body }),
      );
      response.writeHead(given.status, Object.fromEntries(given.headers));
      if (given.body === null) response.end();
      else
        Readable.fromWeb(given.body)
          .on('error', () => response.destroy())
          .pipe(response);
    };
    answer().catch(() => response.destroy());
  });
  servers.push(server);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: new URL(`http://127.0.0.1:${String(port)}/mcp`), seen };
}
