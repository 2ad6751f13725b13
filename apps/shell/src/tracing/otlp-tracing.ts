import { AsyncLocalStorage } from 'node:async_hooks';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Attributes, Context, Link, Span, SpanContext } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import type { SpanExporter } from '@opentelemetry/sdk-trace-node';
import type { NewEvent } from '@countersign/contracts';
import type { Log } from '@countersign/runtime';
import { eventAttributes, eventName } from './call-attributes.js';
import { parseTraceparent, toTraceparent } from './trace-context.js';
import type { RunningSpan, SpanOptions, TracedAnswer, TracedRequest, Tracing, TracingOptions } from './tracing.js';

/** The active span of some work. A request gets its own only when its route is known. */
interface Scope {
  span: Span | undefined;
}

const kinds = { consumer: SpanKind.CONSUMER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;

/** Spans over OTLP/HTTP, in batches. Nothing is registered globally, so two exporters can exist in one process. */
export function createOtlpTracing({ service, env, log, endpoint }: TracingOptions & { endpoint: string }): Tracing {
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces` });
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': env['OTEL_SERVICE_NAME'] ?? service }),
    spanProcessors: [new BatchSpanProcessor(telling(exporter, log))],
  });
  const tracer = provider.getTracer('countersign');
  const scopes = new AsyncLocalStorage<Scope>();
  const active = (): SpanContext | undefined => scopes.getStore()?.span?.spanContext();

  const startRequest = ({ method, route, traceparent, ids }: TracedRequest): Span => {
    const attributes: Attributes = { 'http.request.method': method, 'http.route': route };
    for (const [name, id] of Object.entries(ids)) attributes[attributeOf[name] ?? `countersign.${name}`] = id;
    const options = { kind: SpanKind.SERVER, attributes };
    return tracer.startSpan(`${method} ${route}`, options, childOf(parseTraceparent(traceparent)));
  };
  const startSpan = ({ name, kind = 'internal', attributes, parent }: SpanOptions): Span => {
    const before = active();
    const above = parseTraceparent(parent) ?? before;
    const options = { kind: kinds[kind], attributes: known(attributes), links: linksTo(before, above) };
    return tracer.startSpan(name, options, childOf(above));
  };
  const startEvent = (event: NewEvent): void => {
    const above = parseTraceparent(event.metadata.traceparent);
    // A lease is renewed every few seconds.
    if (above === undefined || event.metadata.callId === null || event.type === 'ExecutionClaimRenewed') return;
    const options = { attributes: known(eventAttributes(event)), links: linksTo(active(), above) };
    tracer.startSpan(eventName(event), options, childOf(above)).end();
  };
  return {
    requestScope: (handle) => {
      scopes.run({ span: undefined }, handle);
    },
    requestStarted: (request) => {
      const span = startRequest(request);
      const scope = scopes.getStore();
      if (scope !== undefined) scope.span = span;
      return (answer) => {
        endRequest(span, answer);
      };
    },
    inSpan: async (options, work) => {
      const span = startSpan(options);
      try {
        return await scopes.run({ span }, () => work(running(span)));
      } catch (error) {
        // The message of an error may quote a value.
        running(span).fail(error instanceof Error ? error.name : 'Error');
        throw error;
      } finally {
        span.end();
      }
    },
    traceparent: () => {
      const span = active();
      return span === undefined ? undefined : toTraceparent(span);
    },
    recorded: (events) => {
      for (const event of events) startEvent(event);
    },
    // Undelivered spans were reported already. They do not make the shutdown fail.
    close: () => provider.shutdown().catch(() => undefined),
  };
}

const attributeOf: Readonly<Record<string, string>> = {
  callId: 'countersign.call_id',
  approvalId: 'countersign.approval_id',
  runId: 'countersign.run_id',
};

function endRequest(span: Span, { status, callIds }: TracedAnswer): void {
  span.setAttribute('http.response.status_code', status);
  if (callIds.length > 0) span.setAttribute('countersign.call_ids', [...callIds]);
  // The semantic conventions do not count a client error as an error of a server span.
  if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
  span.end();
}

function running(span: Span): RunningSpan {
  return {
    fail: (code) => {
      span.setAttribute('error.type', code);
      span.setStatus({ code: SpanStatusCode.ERROR });
    },
  };
}

function childOf(above: SpanContext | undefined): Context {
  return above === undefined ? ROOT_CONTEXT : trace.setSpanContext(ROOT_CONTEXT, above);
}

/** The cause of a span where that is in another trace, such as the request of a person who responds. */
function linksTo(cause: SpanContext | undefined, above: SpanContext | undefined): Link[] {
  return cause === undefined || cause.traceId === above?.traceId ? [] : [{ context: cause }];
}

function known(attributes: SpanOptions['attributes']): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}

/** An exporter that logs lost spans. Requests continue without them. */
function telling(exporter: SpanExporter, log: Log): SpanExporter {
  return {
    export: (spans, done) => {
      exporter.export(spans, (result) => {
        if (result.error !== undefined)
          log.warn({ error: result.error, spans: spans.length }, 'spans were not delivered');
        done(result);
      });
    },
    shutdown: () => exporter.shutdown(),
    forceFlush: () => exporter.forceFlush?.() ?? Promise.resolve(),
  };
}
