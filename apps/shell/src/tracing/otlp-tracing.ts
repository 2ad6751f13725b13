import { ROOT_CONTEXT, SpanKind, SpanStatusCode, isSpanContextValid, trace } from '@opentelemetry/api';
import type { Attributes, Context, Tracer } from '@opentelemetry/api';
import { OTLPTraceExporter } from '@opentelemetry/exporter-trace-otlp-http';
import { resourceFromAttributes } from '@opentelemetry/resources';
import { BatchSpanProcessor, NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import type { SpanExporter } from '@opentelemetry/sdk-trace-node';
import type { Log } from '@countersign/runtime';
import type { TracedAnswer, TracedRequest, Tracing, TracingOptions } from './tracing.js';

/** Spans over OTLP/HTTP, in batches. Nothing is registered globally, so two exporters can exist in one process. */
export function createOtlpTracing({ service, env, log, endpoint }: TracingOptions & { endpoint: string }): Tracing {
  const exporter = new OTLPTraceExporter({ url: `${endpoint.replace(/\/+$/, '')}/v1/traces` });
  const provider = new NodeTracerProvider({
    resource: resourceFromAttributes({ 'service.name': env['OTEL_SERVICE_NAME'] ?? service }),
    spanProcessors: [new BatchSpanProcessor(telling(exporter, log))],
  });
  const tracer = provider.getTracer('countersign');
  return {
    requestStarted: (request) => startSpan(tracer, request),
    // Undelivered spans were reported already. They do not make the shutdown fail.
    close: () => provider.shutdown().catch(() => undefined),
  };
}

function startSpan(tracer: Tracer, request: TracedRequest): (answer: TracedAnswer) => void {
  const { method, route, traceparent, ids } = request;
  const attributes: Attributes = { 'http.request.method': method, 'http.route': route };
  for (const [name, id] of Object.entries(ids)) attributes[attributeOf[name] ?? `countersign.${name}`] = id;
  const options = { kind: SpanKind.SERVER, attributes };
  const span = tracer.startSpan(`${method} ${route}`, options, parentOf(traceparent));
  return ({ status, callIds }) => {
    span.setAttribute('http.response.status_code', status);
    if (callIds.length > 0) span.setAttribute('countersign.call_ids', [...callIds]);
    // As in the semantic conventions: a client error is not an error of this span.
    if (status >= 500) span.setStatus({ code: SpanStatusCode.ERROR });
    span.end();
  };
}

const attributeOf: Readonly<Record<string, string>> = {
  callId: 'countersign.call_id',
  approvalId: 'countersign.approval_id',
  runId: 'countersign.run_id',
};

const traceparentPattern = /^00-([0-9a-f]{32})-([0-9a-f]{16})-([0-9a-f]{2})$/;

/** The caller's span from the W3C header; a malformed header is ignored. */
function parentOf(traceparent: TracedRequest['traceparent']): Context {
  const [, traceId, spanId, flags] =
    typeof traceparent === 'string' ? (traceparentPattern.exec(traceparent) ?? []) : [];
  if (traceId === undefined || spanId === undefined || flags === undefined) return ROOT_CONTEXT;
  const caller = { traceId, spanId, traceFlags: parseInt(flags, 16), isRemote: true };
  return isSpanContextValid(caller) ? trace.setSpanContext(ROOT_CONTEXT, caller) : ROOT_CONTEXT;
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
