import { request as httpRequest } from 'node:http';
import type { ClientRequest } from 'node:http';
import { request as httpsRequest } from 'node:https';
import { unencodedHeaders } from '@countersign/http-client';
import { AddressNotAllowedError, privateAddressOf, publicLookup } from '@countersign/runtime';
import type { Clock, ResolveName } from '@countersign/runtime';

/** One POST to an operator's endpoint. */
export interface PostRequest {
  readonly url: URL;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: string;
  /** The time limit from the DNS look-up to the head of the response. */
  readonly timeoutMs: number;
  readonly allowPrivateNetwork: boolean;
  readonly signal: AbortSignal;
}

/** The head of the response; its body is ignored, so that it has no decoder to attack. Error messages contain no secret of the url. */
export type PostAnswer =
  | { readonly status: 'answered'; readonly httpStatus: number; readonly retryAfterMs?: number }
  | { readonly status: 'failed' | 'refused'; readonly message: string };

/**
 * Sends one POST. It follows no redirect, which could lead into the private network, and reuses no connection, so that
 * each is made to a checked address.
 */
export function post(
  request: PostRequest,
  ports: { readonly clock: Clock; readonly resolve?: ResolveName },
): Promise<PostAnswer> {
  const { url, allowPrivateNetwork, signal, timeoutMs } = request;
  if (!allowPrivateNetwork && privateAddressOf(url) !== undefined) {
    return Promise.resolve({ status: 'refused', message: 'the address is in a private network' });
  }
  if (signal.aborted) return Promise.resolve({ status: 'failed', message: 'given up before it was sent' });
  return new Promise((resolve) => {
    const posting = open(request, ports.resolve);
    // Only the first event counts: a destroyed request still emits errors.
    const end = (answer: PostAnswer): void => {
      cancelTimeout();
      signal.removeEventListener('abort', giveUp);
      posting.destroy();
      resolve(answer);
    };
    const fail = (message: string): void => end({ status: 'failed', message });
    const giveUp = (): void => fail('given up: the notifier stops');
    const cancelTimeout = ports.clock.setTimer(timeoutMs, () => fail(`no answer within ${String(timeoutMs)} ms`));
    signal.addEventListener('abort', giveUp);
    posting.on('error', (error: NodeJS.ErrnoException) => {
      if (error instanceof AddressNotAllowedError) end({ status: 'refused', message: error.message });
      else fail(error.code ?? 'the connection broke');
    });
    posting.once('close', () => fail('the connection closed before the answer'));
    posting.once('response', ({ statusCode: httpStatus = 0, headers }) => {
      const retryAfterMs = retryAfterMsOf(headers['retry-after'], ports.clock.now());
      end({ status: 'answered', httpStatus, ...(retryAfterMs === undefined ? {} : { retryAfterMs }) });
    });
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

const retryAfterMsMax = 86_400_000;

/** `Retry-After` in milliseconds: seconds, or a date. */
export function retryAfterMsOf(header: string | undefined, nowMs: number): number | undefined {
  if (header === undefined) return undefined;
  const ms = /^\d+$/.test(header) ? Number(header) * 1000 : Date.parse(header) - nowMs;
  return Number.isFinite(ms) ? Math.min(Math.max(ms, 0), retryAfterMsMax) : undefined;
}
