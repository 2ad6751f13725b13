import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { expect, it } from '@jest/globals';
import { createHttpClient } from './http-client.js';
import { answerBytesMax, RefusedResponseError } from './refused-response.js';

it('a body that is no JSON is an error at once, and not a server that is away', async () => {
  const client = createHttpClient({ base: 'http://fake.test', fetch: () => Promise.reject(new Error('it was sent')) });
  const sent = client.send({ method: 'POST', path: '/', body: { n: 1n }, again: () => 0 });
  await expect(sent).rejects.toThrow(TypeError);
});

it('a response without end is not read to its end, and not asked for again', async () => {
  let [asked, sent] = [0, 0];
  const part = new Uint8Array(2 ** 20);
  const endless = (): ReadableStream<Uint8Array> =>
    new ReadableStream({
      pull: (controller) => {
        sent += part.byteLength;
        controller.enqueue(part);
        if (sent > 2 * answerBytesMax) controller.close();
      },
    });
  const fetch = async (): Promise<Response> => {
    asked += 1;
    return new Response(endless());
  };
  const client = createHttpClient({ base: 'http://fake.test', fetch });
  await expect(client.send({ path: '/', again: () => 0 })).rejects.toThrow(RefusedResponseError);
  expect(asked).toBe(1);
  expect(sent).toBeLessThanOrEqual(answerBytesMax + 2 * part.byteLength);
});

it('a response in several parts is read whole', async () => {
  const bytes = new TextEncoder().encode('{"word":"été 😀"}');
  const parts = new ReadableStream<Uint8Array>({
    start: (controller) => {
      for (const byte of bytes) controller.enqueue(Uint8Array.of(byte));
      controller.close();
    },
  });
  const client = createHttpClient({ base: 'http://fake.test', fetch: async () => new Response(parts) });
  expect((await client.send({ path: '/' })).body).toEqual({ word: 'été 😀' });
});

it.each([301, 302, 307, 308])('a redirect with %d is returned, and not followed', async (status) => {
  const asked: string[] = [];
  const server = createServer(({ url = '' }, response) => {
    asked.push(url);
    response.writeHead(status, { location: '/elsewhere' }).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  const client = createHttpClient({ base: `http://127.0.0.1:${String(port)}` });
  const answer = await client.send({ method: 'POST', path: '/claim', body: {} });
  server.closeAllConnections();
  server.close();
  expect([answer.status, asked]).toEqual([status, ['/claim']]);
});
