import { createHook } from 'node:async_hooks';
import { createServer, type Socket } from 'node:net';
// The names of zstd are missing in Node 20, where an import of one would fail before the program starts.
import * as zlib from 'node:zlib';

/** The values of `content-encoding`, one for each header line, of responses that must be refused. */
export const refusedEncodings: readonly (readonly string[])[] = [
  ...['br', 'gzip', 'deflate', 'zstd', 'x-unknown', 'br, identity', 'identity, br', 'BR'].map((value) => [value]),
  ['br', 'br'],
  ['identity', 'br'],
  ['br', 'identity'],
];

/** Those of responses that must be read. */
export const plainEncodings: readonly (readonly string[])[] = [
  [],
  ['identity'],
  ['Identity'],
  ['identity', 'identity'],
];

/** A server that ignores `accept-encoding`. Head and body come in one packet. */
export interface EncodedServer {
  readonly url: string;
  /** The heads of the requests. */
  readonly received: string[];
  /** The next responses have these lines and this body, which is compressed by the first encoding. */
  readonly answerWith: (encodings: readonly string[], body: string, headers?: readonly string[]) => void;
  readonly close: () => Promise<void>;
}

/** Opens one on a free port. */
export async function openEncodedServer(): Promise<EncodedServer> {
  const received: string[] = [];
  const sockets = new Set<Socket>();
  let answer: Buffer = Buffer.from('');
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.once('data', (head) => {
      received.push(head.toString('latin1'));
      socket.end(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address();
  return {
    url: `http://127.0.0.1:${String(typeof address === 'object' ? address?.port : '')}`,
    received,
    answerWith: (encodings, body, headers = ['content-type: application/json']) => {
      const bytes = compressed(encodings, body);
      const lines = [...headers, ...encodings.map((each) => `content-encoding: ${each}`)];
      const head = ['HTTP/1.1 200 OK', ...lines, `content-length: ${String(bytes.length)}`, 'connection: close'];
      answer = Buffer.concat([Buffer.from(`${head.join('\r\n')}\r\n\r\n`), bytes]);
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

function compressed(encodings: readonly string[], body: string): Buffer {
  const encoding = encodings.join().toLowerCase();
  if (encoding.includes('br')) return zlib.brotliCompressSync(body);
  if (encoding.includes('gzip')) return zlib.gzipSync(body);
  if (encoding.includes('deflate')) return zlib.deflateSync(body);
  if (encoding.includes('zstd')) return zlib.zstdCompressSync(body);
  const plain = Buffer.from(body);
  return encoding.includes('unknown') ? plain.reverse() : plain;
}

/** Returns how many decoders of Node's zlib the work made. Nothing else may make one meanwhile. */
export async function decodersOf(work: () => Promise<unknown>): Promise<number> {
  let made = 0;
  const hook = createHook({
    init: (_id, type) => {
      if (type === 'ZLIB') made += 1;
    },
  }).enable();
  await work().finally(() => hook.disable());
  return made;
}

/** The ids of the first events of a stream of server-sent events; then the stream is closed. */
export async function firstEventIds(
  url: string,
  count: number,
  headers: Readonly<Record<string, string>>,
): Promise<readonly number[]> {
  const over = new AbortController();
  const response = await fetch(url, { headers, signal: over.signal });
  if (!response.ok) throw new Error(`${url}: ${String(response.status)}`);
  let text = '';
  const ids = (): readonly number[] => [...text.matchAll(/^id: (\d+)$/gm)].map(([, id]) => Number(id));
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk as Uint8Array).toString();
    if (ids().length >= count) break;
  }
  over.abort();
  return ids().slice(0, count);
}
