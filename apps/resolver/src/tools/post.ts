import { request as httpRequest } from 'node:http';
import type { ClientRequest, IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { encodingRefusal, unencodedHeaders } from '@countersign/http-client';
import { AddressNotAllowedError, privateAddressOf, publicLookup } from '@countersign/runtime';
import type { Clock, ResolveName } from '@countersign/runtime';

/** One POST request. */
export interface PostRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The time limit from the DNS look-up to the last byte of the response. */
  readonly timeoutMs: number;
  readonly allowPrivateNetwork: boolean;
  readonly answerBytesMax: number;
  readonly signal: AbortSignal;
}

export interface PostPorts {
  readonly clock: Clock;
  /** Default: the system's. */
  readonly resolve?: ResolveName;
}

/**
 * The result of a POST. `not-sent`: it failed before the connection (for https, the handshake) was complete, so no byte
 * was sent; `refused`: the target is forbidden; `lost`: it may have arrived and been executed.
 */
export type PostResult =
  | {
      readonly status: 'answered';
      readonly httpStatus: number;
      readonly contentType: string;
      readonly body: Buffer;
      /** The response was longer than allowed; `body` is its beginning. */
      readonly truncated: boolean;
      /** Why the body was not read; \`body\` is empty then. */
      readonly unread?: string;
    }
  | { readonly status: 'not-sent' | 'refused' | 'lost'; readonly message: string };

/**
 * Sends one POST. It follows no redirect and reuses no connection: a connection that breaks on reuse leaves an unknown
 * outcome.
 */
export function post(request: PostRequest, ports: PostPorts): Promise<PostResult> {
  const { url, allowPrivateNetwork, signal } = request;
  const address = allowPrivateNetwork ? undefined : privateAddressOf(url);
  if (address !== undefined) {
    return Promise.resolve({ status: 'refused', message: `${address} is in a private network` });
  }
  if (signal.aborted) return Promise.resolve({ status: 'not-sent', message: 'given up before it was sent' });
  return new Promise((resolve) => {
    const posting = open(request, ports.resolve);
    let connected = false;
    const fail = (error: Error): void => {
      posting.destroy();
      end({ status: failureStatus(error, connected), message: error.message === '' ? error.name : error.message });
    };
    const giveUp = (): void => fail(new Error('given up: the claim is lost, or the resolver stops'));
    const cancelTimeout = ports.clock.setTimer(request.timeoutMs, () =>
      fail(new Error(`no answer within ${request.timeoutMs} ms`)),
    );
    // Only the first event counts: a destroyed request still emits errors.
    const end = (result: PostResult): void => {
      cancelTimeout();
      signal.removeEventListener('abort', giveUp);
      resolve(result);
    };
    signal.addEventListener('abort', giveUp);
    posting.once('socket', (socket) => {
      socket.once(url.protocol === 'https:' ? 'secureConnect' : 'connect', () => (connected = true));
    });
    posting.on('error', fail);
    posting.once('close', () => fail(new Error('the connection broke before the answer was whole')));
    posting.once('response', (response) => read(response, request.answerBytesMax, end, fail));
    posting.end(request.body);
  });
}

function open({ url, headers, body, allowPrivateNetwork }: PostRequest, resolve?: ResolveName): ClientRequest {
  const send = url.protocol === 'https:' ? httpsRequest : httpRequest;
  return send(url, {
    method: 'POST',
    agent: false,
    headers: { ...headers, ...unencodedHeaders, 'content-length': String(Buffer.byteLength(body)) },
    ...(allowPrivateNetwork ? {} : { lookup: publicLookup(resolve) }),
  });
}

function failureStatus(error: Error, connected: boolean): 'refused' | 'not-sent' | 'lost' {
  if (error instanceof AddressNotAllowedError) return 'refused';
  return connected ? 'lost' : 'not-sent';
}

function read(
  response: IncomingMessage,
  bytesMax: number,
  end: (result: PostResult) => void,
  fail: (error: Error) => void,
): void {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const { statusCode: httpStatus = 0, headers } = response;
  const head = { status: 'answered', httpStatus, contentType: headers['content-type'] ?? '' } as const;
  const finish = (truncated: boolean): void => {
    end({ ...head, body: Buffer.concat(chunks).subarray(0, bytesMax), truncated });
  };
  const refusal = encodingRefusal(headers['content-encoding']);
  if (refusal !== undefined) {
    end({ ...head, body: Buffer.from(''), truncated: false, unread: refusal.message });
    response.destroy();
    return;
  }
  response.on('data', (chunk: Buffer) => {
    chunks.push(chunk);
    bytes += chunk.length;
    if (bytes <= bytesMax) return;
    finish(true);
    response.destroy();
  });
  response.once('end', () => finish(false));
  response.on('error', fail);
}
