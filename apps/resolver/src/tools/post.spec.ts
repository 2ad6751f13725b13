import { once } from 'node:events';
import { createServer } from 'node:net';
import type { AddressInfo, Socket } from 'node:net';
import { decodersOf, openEncodedServer, refusedEncodings } from '@countersign/http-client/testing';
import { systemClock } from '@countersign/runtime';
import { startToolServer } from '../testing/tool-server.js';
import type { ToolServer } from '../testing/tool-server.js';
import { post as postOnce } from './post.js';
import type { PostResult, PostPorts, PostRequest } from './post.js';

describe('a POST', () => {
  let server: ToolServer;
  const sockets: Socket[] = [];
  const closing: (() => void)[] = [];
  beforeEach(async () => {
    server = await startToolServer();
  });
  afterEach(async () => {
    for (const close of closing.splice(0)) close();
    for (const socket of sockets.splice(0)) socket.destroy();
    await server.close();
  });

  const post = (url: string, request: Partial<PostRequest> = {}, ports: Partial<PostPorts> = {}): Promise<PostResult> =>
    postOnce(
      {
        url: new URL(url),
        headers: { 'content-type': 'application/json' },
        body: '{"n":1}',
        timeoutMs: 5_000,
        allowPrivateNetwork: true,
        answerBytesMax: 1024,
        signal: new AbortController().signal,
        ...request,
      },
      { clock: systemClock, ...ports },
    );
  const here = (path = '/tool'): string => `http://127.0.0.1:${server.port}${path}`;
  /** A server below HTTP: it does what it likes with each connection. */
  const rawServer = async (onConnection: (socket: Socket) => void): Promise<number> => {
    const raw = createServer((socket) => {
      sockets.push(socket);
      socket.on('error', () => undefined);
      onConnection(socket);
    });
    raw.listen(0, '127.0.0.1');
    await once(raw, 'listening');
    closing.push(() => raw.close());
    return (raw.address() as AddressInfo).port;
  };

  it('posts once and brings the answer', async () => {
    const answer = await post(here());
    expect(answer).toMatchObject({
      status: 'answered',
      httpStatus: 200,
      contentType: 'application/json',
      truncated: false,
    });
    expect(answer).toHaveProperty('body', Buffer.from('{"ok":true}'));
    expect(server.received).toMatchObject([{ url: '/tool', body: '{"n":1}', headers: { 'content-length': '7' } }]);
  });

  it.each(refusedEncodings.map((encodings) => ({ encodings })))(
    'does not read an answer with $encodings, although the tool has run',
    async ({ encodings }) => {
      const encoded = await openEncodedServer();
      encoded.answerWith(encodings, '{"ok":true}');
      const decoders = await decodersOf(async () => {
        expect(await post(encoded.url)).toMatchObject({
          ...{ status: 'answered', httpStatus: 200, body: Buffer.from('') },
          unread: expect.stringMatching(/content-encoding: .*Turn compression off/) as string,
        });
      });
      await encoded.close();
      expect(decoders).toBe(0);
      expect(encoded.received).toEqual([expect.stringContaining('accept-encoding: identity\r\n')]);
    },
  );

  it('follows no redirect', async () => {
    server.answer = (_, response) => response.writeHead(302, { location: here('/private') }).end('elsewhere');
    expect(await post(here())).toMatchObject({ status: 'answered', httpStatus: 302 });
    expect(server.received).toHaveLength(1);
  });

  it('keeps of a huge answer no more than it may', async () => {
    let written = 0;
    server.answer = (_, response) => {
      const chunk = Buffer.alloc(64 * 1024, 'x');
      const write = (): void => {
        for (; written < 1e9 && !response.destroyed; written += chunk.length) {
          if (!response.write(chunk)) return void response.once('drain', write);
        }
      };
      write();
    };
    const answer = await post(here(), { answerBytesMax: 10_000 });
    expect(answer).toMatchObject({ status: 'answered', truncated: true });
    expect(answer).toHaveProperty('body.length', 10_000);
    expect(written).toBeLessThan(1e8);
  });

  describe('whose outcome is unknown, since the request has left', () => {
    it('gets no answer in time', async () => {
      server.answer = () => undefined;
      expect(await post(here(), { timeoutMs: 50 })).toEqual({ status: 'lost', message: 'no answer within 50 ms' });
    });

    it('gets an answer that does not end in time', async () => {
      server.answer = (_, response) => void response.write('half');
      expect(await post(here(), { timeoutMs: 50 })).toMatchObject({ status: 'lost' });
    });

    it('loses its connection before the answer', async () => {
      server.answer = (_, response) => response.destroy();
      expect(await post(here())).toMatchObject({ status: 'lost' });
      expect(server.received).toHaveLength(1);
    });

    it('loses its connection within the answer', async () => {
      server.answer = (_, response) => {
        response.writeHead(200, { 'content-length': '100' });
        response.write('half', () => response.destroy());
      };
      expect(await post(here())).toMatchObject({ status: 'lost' });
    });

    it('has its connection closed without a word', async () => {
      const port = await rawServer((socket) => void socket.once('data', () => socket.end()));
      expect(await post(`http://127.0.0.1:${port}/`)).toMatchObject({ status: 'lost' });
    });

    it('gets an answer that is not HTTP', async () => {
      const port = await rawServer((socket) => void socket.once('data', () => socket.end('SSH-2.0-OpenSSH\r\n')));
      expect(await post(`http://127.0.0.1:${port}/`)).toMatchObject({ status: 'lost' });
    });

    it('is given up meanwhile', async () => {
      const giveUp = new AbortController();
      server.answer = () => giveUp.abort();
      expect(await post(here(), { signal: giveUp.signal })).toMatchObject({ status: 'lost' });
    });
  });

  describe('that certainly was not sent', () => {
    it('fails when the connection is refused', async () => {
      const port = await rawServer(() => undefined);
      for (const close of closing.splice(0)) close();
      expect(await post(`http://127.0.0.1:${port}/`)).toMatchObject({ status: 'not-sent' });
    });

    it('finds no such name', async () => {
      const resolve: PostPorts['resolve'] = (_, __, callback) => callback(new Error('ENOTFOUND'), []);
      const request = { allowPrivateNetwork: false };
      expect(await post('http://nowhere.example/', request, { resolve })).toMatchObject({ status: 'not-sent' });
    });

    it('waits for a name for too long', async () => {
      const request = { allowPrivateNetwork: false, timeoutMs: 30 };
      const resolve = (): void => undefined;
      expect(await post('http://slow.example/', request, { resolve })).toMatchObject({ status: 'not-sent' });
    });

    it('is given up before', async () => {
      expect(await post(here(), { signal: AbortSignal.abort() })).toMatchObject({ status: 'not-sent' });
      expect(server.received).toEqual([]);
    });

    it('finds a server that does not speak TLS', async () => {
      expect(await post(here().replace('http:', 'https:'))).toMatchObject({ status: 'not-sent' });
      expect(server.received).toEqual([]);
    });

    it('waits for the TLS handshake for too long', async () => {
      const port = await rawServer(() => undefined);
      expect(await post(`https://127.0.0.1:${port}/`, { timeoutMs: 50 })).toMatchObject({ status: 'not-sent' });
    });
  });

  describe('with a private network', () => {
    const guarded = { allowPrivateNetwork: false, timeoutMs: 2_000 };

    it.each([
      ...['127.0.0.1', '[::1]', '[::ffff:127.0.0.1]', '2130706433', '017700000001', '0x7f000001', '127.1', '0.0.0.0'],
      ...['169.254.169.254', '[::ffff:169.254.169.254]', '10.0.0.1', '[fd00:ec2::254]', '[fe80::1]'],
    ])('is refused: %s', async (host) => {
      expect(await post(`http://${host}:${server.port}/`, guarded)).toMatchObject({ status: 'refused' });
      expect(server.received).toEqual([]);
    });

    it('is refused by a name that really resolves to loopback', async () => {
      expect(await post(`http://localhost:${server.port}/`, guarded)).toMatchObject({ status: 'refused' });
      expect(server.received).toEqual([]);
    });

    it('is refused when a name turns private after its first look-up: the address connected to is the one checked', async () => {
      const answers = ['8.8.8.8', '127.0.0.1'];
      const resolve: PostPorts['resolve'] = (_, __, callback) =>
        callback(null, [{ address: answers.shift() ?? '127.0.0.1', family: 4 }]);
      resolve('rebinding.example', { all: true }, () => undefined);
      const url = `http://rebinding.example:${server.port}/`;
      expect(await post(url, guarded, { resolve })).toEqual({
        status: 'refused',
        message: 'rebinding.example is in a private network',
      });
      expect(server.received).toEqual([]);
    });

    it('is not reached through a redirect', async () => {
      const target = await startToolServer();
      server.answer = (_, response) => response.writeHead(307, { location: `http://127.0.0.1:${target.port}/` }).end();
      expect(await post(here())).toMatchObject({ status: 'answered', httpStatus: 307 });
      expect(target.received).toEqual([]);
      await target.close();
    });

    it('is allowed where the tool says so, by name too', async () => {
      expect(await post(`http://localhost:${server.port}/`)).toMatchObject({ status: 'answered' });
    });
  });
});
