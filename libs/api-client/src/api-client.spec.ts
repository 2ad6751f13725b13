import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { decodersOf, openEncodedServer, refusedEncodings, type EncodedServer } from '@countersign/http-client/testing';
import { createApiClient } from './api-client.js';
import { createFrontEnd } from './front-end.js';

const listed = (answer: () => Response) =>
  createApiClient({ url: 'http://countersign.test', token: 't', fetch: async () => answer() }).GET('/v1/approvals');

const html = { 'content-type': 'text/html', 'retry-after': '7' };
const problem = { type: 'about:blank', title: 'Forbidden', status: 403, code: 'forbidden', detail: 'not an approver' };

describe('the client of the HTTP API', () => {
  it.each([
    ['HTML', () => new Response('<html>bad gateway</html>', { status: 502, headers: html })],
    ['nothing', () => new Response(null, { status: 502, headers: { ...html, 'content-length': '0' } })],
    ['other JSON', () => Response.json({ error: 'bad gateway' }, { status: 502, headers: html })],
    ['JSON null', () => Response.json(null, { status: 502, headers: html })],
  ])('returns an error with a code when a proxy responds with %s', async (_, answer) => {
    const { data, error, response } = await listed(answer);
    expect([data, error?.code, response.status]).toEqual([undefined, 'http-502', 502]);
    expect(error?.detail).toContain('502');
    expect(response.headers.get('retry-after')).toBe('7');
  });

  it('returns the problem of Countersign as it is', async () => {
    const { error } = await listed(() => Response.json(problem, { status: 403 }));
    expect(error).toEqual(problem);
  });

  it('rejects when no response arrives', async () => {
    await expect(
      listed(() => {
        throw new TypeError('fetch failed');
      }),
    ).rejects.toThrow('fetch failed');
  });
});

it('reads a card for a bot in the name of a person, with the client of that person', async () => {
  const requests: Request[] = [];
  const fetch = async (request: Request): Promise<Response> => {
    requests.push(request);
    return Response.json({ card: { text: 'May refund run?' }, presses: [] });
  };
  const frontEnd = createFrontEnd({ url: 'http://countersign.test', token: 't', fetch });
  const { data } = await frontEnd.as({ id: 'kim@example.com', groups: ['support'] }).card('apr_1', 'teams');
  expect(data?.card).toEqual({ text: 'May refund run?' });
  const [request] = requests;
  expect(request?.url).toBe('http://countersign.test/v1/approvals/apr_1/card?format=teams');
  expect(request?.headers.get('countersign-person')).toBe('kim%40example.com');
});

describe('a response with the content encodings', () => {
  let server: EncodedServer;
  beforeAll(async () => {
    server = await openEncodedServer();
  });
  afterAll(() => server.close());

  it.each(refusedEncodings.map((encodings) => ({ encodings })))(
    '$encodings is refused without a decoder',
    async ({ encodings }) => {
      server.answerWith(encodings, '{"approvals":[]}');
      const client = createApiClient({ url: server.url, token: 't' });
      const decoders = await decodersOf(async () => {
        await expect(client.GET('/v1/approvals')).rejects.toThrow('content-encoding');
      });
      expect(decoders).toBe(0);
      expect(server.received.at(-1)).toMatch(/accept-encoding: identity\r\n/);
    },
  );

  it('none is read, and the request keeps its method, headers and body', async () => {
    server.answerWith([], '{"results":[]}');
    const client = createApiClient({ url: server.url, token: 't' });
    const { data } = await client.POST('/v1/runs/{runId}/cancel', {
      params: { path: { runId: 'r' } },
      body: { reason: 'late' },
    });
    expect(data).toEqual({ results: [] });
    expect(server.received.at(-1)).toMatch(/^POST \/v1\/runs\/r\/cancel [^]*authorization: Bearer t\r\n/);
  });
});
