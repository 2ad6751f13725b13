import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';

/** A span as a collector receives it. */
export interface ReceivedSpan {
  readonly traceId: string;
  readonly spanId: string;
  readonly parentSpanId?: string;
  readonly name: string;
  readonly kind: number;
  readonly status: { readonly code: number };
  readonly links?: readonly { readonly traceId: string; readonly spanId: string }[];
  readonly attributes: readonly { readonly key: string; readonly value: Readonly<Record<string, unknown>> }[];
}

/** A collector of spans. */
export interface OtlpCollector {
  readonly endpoint: string;
  /** Everything that was received, unchanged. */
  readonly text: () => string;
  /** The attributes of the services that sent spans. */
  readonly services: () => readonly unknown[];
  readonly spans: () => readonly ReceivedSpan[];
  readonly close: () => Promise<void>;
}

/** A collector for OTLP over HTTP with JSON. It answers each request with `status` and `answer`, or never. */
export async function openOtlpCollector(status: number | 'never' = 200, answer = '{}'): Promise<OtlpCollector> {
  const bodies: string[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      if (request.url === '/v1/traces') bodies.push(Buffer.concat(chunks).toString());
      if (status === 'never') return;
      response.writeHead(status, { 'content-type': 'application/json' }).end(answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const received = () =>
    bodies.flatMap((body) => {
      const { resourceSpans } = JSON.parse(body) as {
        resourceSpans: { resource: { attributes: unknown[] }; scopeSpans: { spans: ReceivedSpan[] }[] }[];
      };
      return resourceSpans;
    });
  return {
    endpoint: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    text: () => bodies.join('\n'),
    services: () => received().flatMap(({ resource }) => resource.attributes),
    spans: () => received().flatMap(({ scopeSpans }) => scopeSpans.flatMap(({ spans }) => spans)),
    close: () =>
      new Promise((resolve) => {
        server.close(() => {
          resolve();
        });
        server.closeAllConnections();
      }),
  };
}

/** The attributes of a span by name. */
export function attributesOf(span: ReceivedSpan | undefined): Record<string, unknown> {
  return Object.fromEntries((span?.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]));
}
