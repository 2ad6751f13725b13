import { Agent, request } from 'node:http';
import type { IncomingHttpHeaders, IncomingMessage } from 'node:http';

/** One request. */
export interface HttpRequest {
  readonly method: 'GET' | 'POST' | 'DELETE';
  readonly path: string;
  readonly token?: string;
  readonly idempotencyKey?: string;
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: unknown;
  /** Without a response by then the connection counts as broken. Default: 100 s. */
  readonly timeoutMs?: number;
}

/** One complete response. */
export interface HttpAnswer {
  readonly status: number;
  readonly headers: IncomingHttpHeaders;
  readonly text: string;
  /** The JSON value of the body; undefined when it is none. */
  readonly body: unknown;
}

/** A keep-alive client of one port of this machine. */
export interface Http {
  /** One try. Rejects when the connection broke before the complete response was there. */
  readonly send: (what: HttpRequest) => Promise<HttpAnswer>;
  readonly close: () => void;
}

/** A client; it connects when it is used. */
export function createHttp(port: number): Http {
  const agent = new Agent({ keepAlive: true, maxSockets: 256 });
  return {
    send: (what) =>
      new Promise((resolve, reject) => {
        const text = what.body === undefined ? undefined : JSON.stringify(what.body);
        const { method, path, timeoutMs = 100_000 } = what;
        const sent = request(
          { agent, host: '127.0.0.1', port, method, path, headers: headersOf(what, text) },
          (answer) => {
            read(answer).then(resolve, reject);
          },
        );
        sent.setTimeout(timeoutMs, () => {
          sent.destroy(new Error(`no answer to ${method} ${path} within ${timeoutMs} ms`));
        });
        sent.once('error', reject);
        sent.end(text);
      }),
    close: () => {
      agent.destroy();
    },
  };
}

function headersOf({ token, idempotencyKey, headers }: HttpRequest, text: string | undefined): Record<string, string> {
  return {
    ...headers,
    ...(token === undefined ? {} : { authorization: `Bearer ${token}` }),
    ...(idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey }),
    ...(text === undefined
      ? {}
      : { 'content-type': 'application/json', 'content-length': String(Buffer.byteLength(text)) }),
  };
}

async function read(answer: IncomingMessage): Promise<HttpAnswer> {
  const chunks: Buffer[] = [];
  for await (const chunk of answer) chunks.push(chunk as Buffer);
  if (!answer.complete) throw new Error('the connection broke within the answer');
  const text = Buffer.concat(chunks).toString('utf8');
  const isJson = /[/+]json/.test(answer.headers['content-type'] ?? '');
  return {
    status: answer.statusCode ?? 0,
    headers: answer.headers,
    text,
    body: isJson && text !== '' ? (JSON.parse(text) as unknown) : undefined,
  };
}
