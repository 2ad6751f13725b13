import { afterAll, beforeAll, describe, expect, it, jest } from '@jest/globals';
import { createHttpClient } from './http-client.js';
import { decodersOf, openEncodedServer, plainEncodings, refusedEncodings, type EncodedServer } from './testing.js';
import { EncodedResponseError, fetchUnencoded } from './unencoded.js';

let server: EncodedServer;

beforeAll(async () => {
  server = await openEncodedServer();
});
afterAll(() => server.close());

const refused = (work: () => Promise<unknown>) => async (): Promise<void> => {
  await expect(work()).rejects.toThrow(EncodedResponseError);
};

describe('a response with the content encodings', () => {
  it.each(refusedEncodings.map((encodings) => ({ encodings })))(
    '$encodings is refused without a decoder',
    async ({ encodings }) => {
      server.answerWith(encodings, '{}');
      expect(await decodersOf(refused(() => fetchUnencoded(server.url)))).toBe(0);
      expect(await decodersOf(refused(() => fetchUnencoded(new Request(server.url))))).toBe(0);
      expect(server.received.at(-1)).toContain('accept-encoding: identity\r\n');
    },
  );

  it.each(plainEncodings.map((encodings) => ({ encodings })))('$encodings is read', async ({ encodings }) => {
    server.answerWith(encodings, '{"a":1}');
    await expect(fetchUnencoded(server.url).then((response) => response.json())).resolves.toEqual({ a: 1 });
    expect(server.received.at(-1)).toContain('accept-encoding: identity\r\n');
  });
});

it('a decoder would be seen: fetch itself makes one before its caller sees the headers', async () => {
  server.answerWith(['br'], '{}');
  expect(await decodersOf(() => fetch(server.url))).toBe(1);
});

it('the headers of the caller are kept, except accept-encoding', async () => {
  server.answerWith([], '{}');
  const headers = { authorization: 'Bearer t', 'accept-encoding': 'br' };
  await fetchUnencoded(server.url, { headers });
  await fetchUnencoded(new Request(server.url, { headers }));
  for (const head of server.received.slice(-2)) {
    expect(head).toContain('authorization: Bearer t\r\n');
    expect(head).toContain('accept-encoding: identity\r\n');
  }
});

it('a client says so once, and neither retries nor reports a server that is away', async () => {
  server.answerWith(['br'], '{}');
  const client = createHttpClient({ base: server.url });
  const before = server.received.length;
  const said =
    'the server sent a response with "content-encoding: br" to a request with "accept-encoding: identity", and it was not read. Turn compression off in the server or the proxy in front of it';
  await expect(client.send({ path: '/', again: () => 0 })).rejects.toThrow(said);
  await expect(client.open({ path: '/', again: () => 0 })).rejects.toThrow(said);
  expect(server.received.length - before).toBe(2);
});

it('a browser reads any encoding, because it has chosen it', async () => {
  const response = new Response('', { headers: { 'content-encoding': 'br' } });
  jest.spyOn(globalThis, 'fetch').mockResolvedValue(response);
  jest.spyOn(Headers.prototype, 'has').mockReturnValue(false);
  await expect(fetchUnencoded(server.url)).resolves.toBe(response);
});

it('a realm without dispatchers refuses the response at its headers', async () => {
  const response = new Response('', { headers: { 'content-encoding': 'br' } });
  jest.spyOn(globalThis, 'fetch').mockResolvedValue(response);
  await expect(fetchUnencoded(server.url)).rejects.toThrow(EncodedResponseError);
});
