// Two small web sites on this machine, distinguished by host name.
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';

const pages: Readonly<Record<string, string>> = {
  'docs.example.test': 'Refunds are booked on the order itself.',
  'news.example.test': 'Nothing happened today.',
};

export interface Site {
  readonly port: number;
  readonly close: () => void;
}

export async function startSite(port = 0): Promise<Site> {
  const server: Server = createServer((request, response) => {
    const page = pages[(request.headers.host ?? '').split(':')[0] ?? ''];
    response.writeHead(page === undefined ? 404 : 200, { 'content-type': 'text/plain' });
    response.end(page ?? 'No such site.');
  });
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve));
  return {
    port: (server.address() as AddressInfo).port,
    close: () => {
      server.close();
      server.closeAllConnections();
    },
  };
}
