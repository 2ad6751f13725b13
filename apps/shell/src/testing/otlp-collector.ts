import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { decodeTraces } from './otlp-protobuf.js';
import type { ReceivedSpan, ReceivedSpans } from './otlp-protobuf.js';

/** A collector of spans. */
export interface OtlpCollector {
  readonly endpoint: string;
  /** Everything that was received, unchanged. */
  readonly text: () => string;
  /** The content type of each request. */
  readonly types: () => readonly string[];
  /** The attributes of the services that sent spans. */
  readonly services: () => readonly unknown[];
  readonly spans: () => readonly ReceivedSpan[];
  readonly close: () => Promise<void>;
}

/** A collector for OTLP over HTTP, with protobuf and JSON. It answers each request with `status` and `answer`, or never. */
export async function openOtlpCollector(status: number | 'never' = 200, answer = ''): Promise<OtlpCollector> {
  const bodies: Body[] = [];
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const type = request.headers['content-type'] ?? '';
      if (request.url === '/v1/traces') bodies.push({ type, content: Buffer.concat(chunks) });
      if (status === 'never') return;
      response.writeHead(status, { 'content-type': type }).end(answer === '' && type === json ? '{}' : answer);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const received = () => bodies.flatMap(resourceSpansOf);
  return {
    endpoint: `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`,
    text: () => bodies.map(({ content }) => content.toString()).join('\n'),
    types: () => bodies.map(({ type }) => type),
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

const json = 'application/json';

interface Body {
  readonly type: string;
  readonly content: Buffer;
}

/** Throws for a body that is not what its content type says. */
function resourceSpansOf({ type, content }: Body): readonly ReceivedSpans[] {
  if (type === 'application/x-protobuf') return decodeTraces(content);
  if (type !== json) throw new Error(`spans of the type ${type}`);
  return (JSON.parse(content.toString()) as { resourceSpans: ReceivedSpans[] }).resourceSpans;
}

/** The attributes of a span by name. */
export function attributesOf(span: ReceivedSpan | undefined): Record<string, unknown> {
  return Object.fromEntries((span?.attributes ?? []).map(({ key, value }) => [key, Object.values(value)[0]]));
}
