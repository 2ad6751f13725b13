import { createHttp } from '../../harness/http.js';
import type { Http } from '../../harness/http.js';

/**
 * A client that alternates between the gateways, like a load balancer, and that reads its own writes: a GET sends the
 * last received position.
 */
export function createGatewaysHttp(ports: readonly number[]): Http {
  const clients = ports.map(createHttp);
  let turn = 0;
  let position = 0;
  return {
    send: async (what) => {
      turn += 1;
      const client = clients[turn % clients.length];
      if (client === undefined) throw new Error('there are no gateways');
      const isRead = what.method === 'GET' && position > 0;
      const headers = isRead ? { ...what.headers, 'countersign-position': String(position) } : what.headers;
      const answer = await client.send({ ...what, ...(headers === undefined ? {} : { headers }) });
      position = Math.max(position, Number(answer.headers['countersign-position'] ?? 0));
      return answer;
    },
    close: () => {
      for (const client of clients) client.close();
    },
  };
}
