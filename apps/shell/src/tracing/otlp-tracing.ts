import { AsyncLocalStorage } from 'node:async_hooks';
import { ROOT_CONTEXT, SpanKind, SpanStatusCode, trace } from '@opentelemetry/api';
import type { Attributes, Context, Link, Span, SpanContext } from '@opentelemetry/api';
import { defaultResource, detectResources, envDetector, resourceFromAttributes } from '@opentelemetry/resources';
import type { Resource } from '@opentelemetry/resources';
import { NodeTracerProvider } from '@opentelemetry/sdk-trace-node';
import type { NewEvent } from '@countersign/contracts';
import { eventAttributes, eventName } from './call-attributes.js';
import { closeInTime, createSpanProcessor } from './span-export.js';
import { parseTraceparent, toTraceparent } from './trace-context.js';
import type {
  Collector,
  RunningSpan,
  SpanOptions,
  TracedAnswer,
  TracedRequest,
  Tracing,
  TracingOptions,
} from './tracing.js';

/** The active span of some work. A request gets its own only when its route is known. */
interface Scope {
  span: Span | undefined;
}

const kinds = { consumer: SpanKind.CONSUMER, client: SpanKind.CLIENT, internal: SpanKind.INTERNAL } as const;

/** The maximum length of an attribute's text. A producer can write a message header of a megabyte. */
const attributeLengthMax = 1024;

/** Spans over OTLP/HTTP, in batches. Nothing is registered globally, so two exporters can exist in one process. */
export function createOtlpTracing({
  service,
  env,
  log,
  collector,
}: TracingOptions & { readonly collector: Collector }): Tracing {
  const isLimited = env['OTEL_SPAN_ATTRIBUTE_VALUE_LENGTH_LIMIT'] ?? env['OTEL_ATTRIBUTE_VALUE_LENGTH_LIMIT'];
  const provider = new NodeTracerProvider({
    resource: resourceOf(env['OTEL_SERVICE_NAME'], service),
    spanProcessors: [createSpanProcessor(collector, log)],
    ...(isLimited === undefined && { spanLimits: { attributeValueLengthLimit: attributeLengthMax } }),
  });
  const tracer = provider.getTracer('countersign');
  const scopes = new AsyncLocalStorage<Scope>();
  const active = (): SpanContext | undefined => scopes.getStore()?.span?.spanContext();

  const startRequest = ({ method, route, traceparent, ids, tenant }: TracedRequest): Span => {
    const attributes = { 'http.request.method': method, 'http.route': route, 'countersign.tenant': tenant };
    const named = Object.entries(ids).map(([name, id]) => [attributeOf(name), id] as const);
    const options = { kind: SpanKind.SERVER, attributes: known({ ...attributes, ...Object.fromEntries(named) }) };
    return tracer.startSpan(`${method} ${route}`, options, childOf(parseTraceparent(traceparent)));
  };
  const startSpan = ({ name, kind = 'internal', attributes, parent, trace, others = [] }: SpanOptions): Span => {
    const before = active();
    const above = parseTraceparent(parent) ?? aboveIn(parseTraceparent(trace), before);
    const links = linksTo([before, ...others.map(parseTraceparent)], above);
    const options = { kind: kinds[kind], attributes: known(attributes), links };
    return tracer.startSpan(name, options, childOf(above));
  };
  const startEvent = (event: NewEvent): void => {
    const above = parseTraceparent(event.metadata.traceparent);
    // A lease is renewed every few seconds.
    if (above === undefined || event.metadata.callId === null || event.type === 'ExecutionClaimRenewed') return;
    const options = { attributes: known(eventAttributes(event)), links: linksTo([active()], above) };
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
    close: () => closeInTime(() => provider.shutdown(), log),
  };
}

/** The service, and what `OTEL_RESOURCE_ATTRIBUTES` says about it. */
function resourceOf(given: string | undefined, service: string): Resource {
  const named = detectResources({ detectors: [envDetector] });
  const known = defaultResource()
    .merge(resourceFromAttributes({ 'service.name': service }))
    .merge(named);
  return given === undefined ? known : known.merge(resourceFromAttributes({ 'service.name': given }));
}

/** The attribute of a parameter: `callId` is `countersign.call_id`. */
function attributeOf(name: string): string {
  return `countersign.${name.replace(/[A-Z]/g, '_$&').toLowerCase()}`;
}

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

function aboveIn(trace: SpanContext | undefined, before: SpanContext | undefined): SpanContext | undefined {
  return trace === undefined || trace.traceId === before?.traceId ? before : trace;
}

/** Spans of other traces that a span has to do with, such as the request of a person who responds: one of each trace. */
function linksTo(others: readonly (SpanContext | undefined)[], above: SpanContext | undefined): Link[] {
  const byTrace = new Map<string, Link>();
  for (const other of others) {
    if (other !== undefined && other.traceId !== above?.traceId) byTrace.set(other.traceId, { context: other });
  }
  return [...byTrace.values()];
}

function known(attributes: SpanOptions['attributes']): Attributes {
  return Object.fromEntries(Object.entries(attributes).filter(([, value]) => value !== undefined));
}
