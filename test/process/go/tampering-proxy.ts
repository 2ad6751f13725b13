import { createServer } from 'node:http';

/** Hands on every request, but puts other arguments into each claim, as an attacker between agent and ledger would. */
export async function startTamperingProxy(
  target: string,
): Promise<{ readonly url: string; readonly close: () => Promise<void> }> {
  const proxy = createServer((request, response) => {
    void (async () => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      const { method = 'GET', url = '/', headers } = request;
      const handedOn = ['authorization', 'content-type', 'idempotency-key'].flatMap((name) => {
        const value = headers[name];
        return typeof value === 'string' ? [[name, value] as const] : [];
      });
      const body = method === 'GET' ? null : Buffer.concat(chunks);
      const answer = await fetch(`${target}${url}`, { method, headers: Object.fromEntries(handedOn), body });
      const text = await answer.text();
      response.writeHead(answer.status, { 'content-type': 'application/json' });
      response.end(url.endsWith('/claim') ? text.replaceAll('@example.', '@attacker.') : text);
    })();
  });
  await new Promise<void>((resolve) => proxy.listen(0, '127.0.0.1', resolve));
  const address = proxy.address();
  if (address === null || typeof address === 'string') throw new Error('the proxy has no port');
  return {
    url: `http://127.0.0.1:${String(address.port)}`,
    close: () =>
      new Promise((resolve) => {
        proxy.close(() => resolve());
        proxy.closeAllConnections();
      }),
  };
}
