import { Agent as HttpAgent, request as httpRequest } from 'node:http';
import type { IncomingMessage, RequestOptions } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { privateAddressOf, publicLookup } from '@countersign/runtime';
import type { Clock, ResolveName } from '@countersign/runtime';

/** One request to a place that keeps the log. */
export interface SinkRequest {
  readonly method: 'GET' | 'PUT' | 'POST';
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body?: Uint8Array | undefined;
}

/** The answer to a request. */
export interface SinkAnswer {
  readonly status: number;
  readonly body: Uint8Array;
}

/** Sends requests over connections that are kept. */
export interface Sender {
  /** @throws Error when there is no answer, without the address */
  readonly send: (request: SinkRequest) => Promise<SinkAnswer>;
  readonly close: () => void;
}

/** The dependencies of a sender. */
export interface SenderPorts {
  readonly allowPrivateNetwork: boolean;
  readonly clock: Clock;
  readonly resolve?: ResolveName | undefined;
  /** For the whole answer. Default: 30 s. */
  readonly timeoutMs?: number;
  /** Default: a tile of entries. */
  readonly answerBytesMax?: number;
}

const timeoutMsDefault = 30_000;
/** A tile of entries has at most 256 of 64 KiB. */
const tileBytesMax = 17 * 1024 * 1024;
const connectionsMax = 8;

/** It follows no redirect, which could lead into the private network. */
export function createSender({
  allowPrivateNetwork,
  clock,
  resolve,
  timeoutMs = timeoutMsDefault,
  answerBytesMax = tileBytesMax,
}: SenderPorts): Sender {
  const options = { keepAlive: true, maxSockets: connectionsMax };
  const agents = { http: new HttpAgent(options), https: new HttpsAgent(options) };
  const send = (request: SinkRequest): Promise<SinkAnswer> => {
    const { url, method, headers, body } = request;
    if (!allowPrivateNetwork && privateAddressOf(url) !== undefined)
      return Promise.reject(new Error('the address is in a private network: that needs allowPrivateNetwork: true'));
    const isHttps = url.protocol === 'https:';
    const given: RequestOptions = {
      method,
      agent: isHttps ? agents.https : agents.http,
      headers: { ...headers, 'accept-encoding': 'identity', ...lengthOf(body) },
      ...(allowPrivateNetwork ? {} : { lookup: publicLookup(resolve) }),
    };
    return new Promise((answer, reject) => {
      const sending = (isHttps ? httpsRequest : httpRequest)(url, given);
      const fail = (why: string): void => {
        cancel();
        sending.destroy();
        reject(new Error(why));
      };
      const cancel = clock.setTimer(timeoutMs, () => fail(`no answer within ${String(timeoutMs)} ms`));
      sending.on('error', (error: NodeJS.ErrnoException) => fail(error.code ?? 'the connection broke'));
      sending.once('response', (response) => {
        readBody(response, answerBytesMax).then(
          (bytes) => {
            cancel();
            answer({ status: response.statusCode ?? 0, body: bytes });
          },
          (error: unknown) => fail(error instanceof Error ? error.message : 'the answer cannot be read'),
        );
      });
      sending.end(body);
    });
  };
  return {
    send,
    close: () => {
      agents.http.destroy();
      agents.https.destroy();
    },
  };
}

function lengthOf(body: Uint8Array | undefined): Record<string, string> {
  return body === undefined ? {} : { 'content-length': String(body.length) };
}

/** @throws Error for an answer that is too long or encoded */
async function readBody(response: IncomingMessage, bytesMax: number): Promise<Uint8Array> {
  const encoding = response.headers['content-encoding'] ?? 'identity';
  if (encoding !== 'identity') throw new Error('the answer is encoded, and that was not asked for');
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of response as AsyncIterable<Uint8Array>) {
    length += chunk.length;
    if (length > bytesMax) throw new Error('the answer is too long');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}
