import { decodersOf, openEncodedServer, refusedEncodings } from '@countersign/http-client/testing';
import { createCollectingLog } from '@countersign/runtime/testing';
import { openTracing } from './open-tracing.js';
import { attributesOf, openOtlpCollector } from '../testing/otlp-collector.js';
import type { OtlpCollector } from '../testing/otlp-collector.js';
import type { Tracing } from './tracing.js';

interface Trace {
  readonly traceId: string;
  readonly spanId: string;
  readonly header: string;
}

const collectors: OtlpCollector[] = [];

afterEach(async () => {
  for (const collector of collectors.splice(0)) await collector.close();
});

async function collect(...options: Parameters<typeof openOtlpCollector>): Promise<OtlpCollector> {
  const collector = await openOtlpCollector(...options);
  collectors.push(collector);
  return collector;
}

function open(env: Readonly<Record<string, string>>, log = createCollectingLog()): Promise<Tracing | undefined> {
  return openTracing({ service: 'countersign', env, log });
}

const oneSpan = (tracing: Tracing | undefined, id = 'm1'): Promise<void> | undefined =>
  tracing?.inSpan({ name: 'one', attributes: { 'messaging.message.id': id } }, () => Promise.resolve());

it('cuts off what a producer wrote into a header that is an attribute', async () => {
  const collector = await collect();
  const tracing = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint });
  await oneSpan(tracing, 'x'.repeat(1_000_000));
  await tracing?.close();
  expect(attributesOf(collector.spans()[0])['messaging.message.id']).toBe('x'.repeat(1024));
});

it('logs no answer of a collector, which may be a page of megabytes', async () => {
  const collector = await collect(400, 'page '.repeat(100_000));
  const log = createCollectingLog();
  const tracing = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint }, log);
  await oneSpan(tracing);
  await tracing?.close();
  const [entry] = log.entries.filter(({ message }) => message === 'spans were not delivered');
  expect(entry?.fields).toEqual({ why: '400 Bad Request', spans: 1 });
});

it('decodes no answer of a collector', async () => {
  const collector = await openEncodedServer();
  for (const encodings of refusedEncodings) {
    collector.answerWith(encodings, '{"partialSuccess":{"rejectedSpans":"1"}}');
    const tracing = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.url });
    const decoders = await decodersOf(async () => {
      await oneSpan(tracing);
      await tracing?.close();
    });
    expect(decoders).toBe(0);
  }
  expect(collector.received).toHaveLength(refusedEncodings.length);
  expect(collector.received.join()).not.toContain('accept-encoding');
  await collector.close();
});

it.each([
  [{}, 'application/x-protobuf'],
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: '' }, 'application/x-protobuf'],
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'http/protobuf' }, 'application/x-protobuf'],
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'http/json' }, 'application/json'],
  [{ OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc', OTEL_EXPORTER_OTLP_TRACES_PROTOCOL: 'http/json' }, 'application/json'],
])('sends spans in the form of %j', async (protocol, type) => {
  const collector = await collect();
  const log = createCollectingLog();
  const tracing = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint, ...protocol }, log);
  await oneSpan(tracing, 'größe');
  await tracing?.close();
  expect(collector.types()).toEqual([type]);
  expect(collector.spans()).toMatchObject([
    { name: 'one', traceId: expect.stringMatching(/^[0-9a-f]{32}$/) as unknown },
  ]);
  expect(attributesOf(collector.spans()[0])).toEqual({ 'messaging.message.id': 'größe' });
  expect(collector.services()).toContainEqual({ key: 'service.name', value: { stringValue: 'countersign' } });
  expect(log.entries.filter(({ message }) => message === 'spans were not delivered')).toEqual([]);
});

it('sends to the whole URL that is given for traces alone', async () => {
  const collector = await collect();
  const tracing = await open({
    OTEL_EXPORTER_OTLP_ENDPOINT: 'http://127.0.0.1:1',
    OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: `${collector.endpoint}/v1/traces`,
  });
  await oneSpan(tracing);
  await tracing?.close();
  expect(collector.spans()).toHaveLength(1);
});

describe('a span', () => {
  const [first, second, third] = ['1', '2', '3'].map((digit) => ({
    traceId: digit.repeat(32),
    spanId: digit.repeat(16),
    header: `00-${digit.repeat(32)}-${digit.repeat(16)}-01`,
  })) as [Trace, Trace, Trace];

  it('has one link to each other trace that it is about', async () => {
    const collector = await collect();
    const tracing = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint });
    const others = [first.header, second.header, third.header, second.header, undefined];
    const options = { name: 'send pager', attributes: {}, parent: first.header, others };
    await tracing?.inSpan(options, () => Promise.resolve());
    await tracing?.close();
    const [span] = collector.spans();
    expect(span).toMatchObject({ traceId: first.traceId, parentSpanId: first.spanId });
    expect(span?.links?.map(({ traceId }) => traceId)).toEqual([second.traceId, third.traceId]);
  });

  it('is in the trace of its call, with a link, while a message of another trace is handled', async () => {
    const collector = await collect();
    const tracing = await open({ OTEL_EXPORTER_OTLP_ENDPOINT: collector.endpoint });
    const run = (name: string, trace: string): Promise<void> | undefined =>
      tracing?.inSpan({ name, attributes: {}, trace }, () => Promise.resolve());
    await tracing?.inSpan({ name: 'process', attributes: {}, parent: first.header }, async () => {
      await run('own', first.header);
      await run('sibling', second.header);
    });
    await tracing?.close();
    const spanOf = (name: string) => collector.spans().find((span) => span.name === name);
    const message = spanOf('process');
    expect(spanOf('own')).toMatchObject({ traceId: first.traceId, parentSpanId: message?.spanId });
    expect(spanOf('sibling')).toMatchObject({ traceId: second.traceId, parentSpanId: second.spanId });
    expect(spanOf('sibling')?.links).toMatchObject([{ traceId: first.traceId, spanId: message?.spanId }]);
  });
});

describe('a start', () => {
  it.each(['collector:4318', 'not a URL', 'grpc://secret-user:secret@collector:4317'])(
    'refuses the endpoint %s, and repeats no secret of it',
    async (endpoint) => {
      const refused = open({ OTEL_EXPORTER_OTLP_ENDPOINT: endpoint });
      await expect(refused).rejects.toThrow(
        /^invalid configuration:\n {2}OTEL_EXPORTER_OTLP_ENDPOINT: must be the URL of a collector, such as http:\/\/collector:4318$/,
      );
    },
  );

  it('refuses gRPC, which would lose every span', async () => {
    const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4317', OTEL_EXPORTER_OTLP_PROTOCOL: 'grpc' };
    await expect(open(env)).rejects.toThrow('OTEL_EXPORTER_OTLP_PROTOCOL: spans are sent over HTTP, not gRPC');
  });

  it.each(['http', 'protobuf', 'HTTP/JSON'])(
    'refuses the protocol %s, and names those that there are',
    async (given) => {
      const env = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', OTEL_EXPORTER_OTLP_PROTOCOL: given };
      await expect(open(env)).rejects.toThrow('OTEL_EXPORTER_OTLP_PROTOCOL: must be http/protobuf or http/json');
    },
  );

  it.each([{ OTEL_SDK_DISABLED: 'TRUE' }, { OTEL_TRACES_EXPORTER: 'none' }])('makes no spans with %o', async (off) => {
    expect(await open({ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector:4318', ...off })).toBeUndefined();
  });
});
