import { createSender } from './send.js';
import type { SenderPorts, SinkAnswer, SinkRequest } from './send.js';
import { expectSame } from './sink.js';
import type { Sink } from './sink.js';

/** An address of files, which are read with GET and stored with PUT. */
export interface HttpSinkPorts extends SenderPorts {
  readonly name: string;
  /** The URL of a path. */
  readonly urlOf: (path: string) => URL;
  /** The headers of a request that goes out now. */
  readonly headersOf: (request: Omit<SinkRequest, 'headers'>) => Promise<Readonly<Record<string, string>>>;
}

/**
 * Stores files with PUT. A tile is sent with `If-None-Match: *`: a server that knows it (RFC 9110) answers 412 where there is one,
 * which is then compared.
 */
export function createHttpSink({ name, urlOf, headersOf, ...ports }: HttpSinkPorts): Sink {
  const sender = createSender(ports);
  const send = async (method: 'GET' | 'PUT', path: string, body?: Uint8Array, isNew = false): Promise<SinkAnswer> => {
    const request = { method, url: urlOf(path), body };
    const headers = await headersOf(request);
    return sender.send({ ...request, headers: isNew ? { ...headers, 'if-none-match': '*' } : headers });
  };
  const read = async (path: string): Promise<Uint8Array | undefined> => {
    const { status, body } = await send('GET', path);
    if (status === 200) return body;
    if (status === 404) return undefined;
    throw new Error(`GET of ${path} was answered with ${wordsOf({ status, body })}`);
  };
  const put = async (path: string, bytes: Uint8Array, isNew: boolean): Promise<boolean> => {
    const answer = await send('PUT', path, bytes, isNew);
    const { status } = answer;
    if (status >= 200 && status < 300) return true;
    if (isNew && status === 412) return false;
    throw new Error(`PUT of ${path} was answered with ${wordsOf(answer)}`);
  };
  return {
    name,
    read,
    putTile: async (path, bytes) => {
      if (!(await put(path, bytes, true))) expectSame(path, (await read(path)) ?? bytes, bytes);
    },
    putCheckpoint: async (path, bytes) => {
      await put(path, bytes, false);
    },
    close: sender.close,
  };
}

/** The status, and the code that S3 has in its answer. */
function wordsOf({ status, body }: SinkAnswer): string {
  const start = Buffer.from(body.subarray(0, 2000)).toString();
  const code = /<Code>([A-Za-z]{1,64})<\/Code>/.exec(start)?.[1];
  return code === undefined ? String(status) : `${String(status)} ${code}`;
}

/** A path below a URL. */
export function urlBelow(base: URL, path: string): URL {
  const url = new URL(base);
  const segments = path.split('/').map((segment) => encodeURIComponent(segment));
  url.pathname = `${url.pathname.replace(/\/$/, '')}/${segments.join('/')}`;
  return url;
}
