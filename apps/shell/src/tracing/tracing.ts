import type { NewEvent } from '@countersign/contracts';
import type { Log } from '@countersign/runtime';

/** The forms of OTLP over HTTP, as the OpenTelemetry specification names them. */
export const otlpProtocols = ['http/protobuf', 'http/json'] as const;
export type OtlpProtocol = (typeof otlpProtocols)[number];

/** Where spans go, and in which form. */
export interface Collector {
  readonly url: URL;
  readonly protocol: OtlpProtocol;
}

/** The settings of tracing. */
export interface TracingOptions {
  /** The service's name where `OTEL_SERVICE_NAME` does not say another. */
  readonly service: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
}

/** A received request. Only ids and the route: a tool's input and output never reach a tracer. */
export interface TracedRequest {
  readonly method: string;
  /** The path of the route, such as `/v1/tool-calls/{callId}`. */
  readonly route: string;
  /** The W3C header that the request carried. */
  readonly traceparent: string | string[] | undefined;
  /** The parameters of the path: `callId`, `approvalId`, `runId`. */
  readonly ids: Readonly<Record<string, string>>;
  readonly tenant: string | undefined;
}

/** The result of a request. */
export interface TracedAnswer {
  readonly status: number;
  /** The calls of the request that its path does not name. */
  readonly callIds: readonly string[];
}

/** A span around some work. */
export interface SpanOptions {
  readonly name: string;
  /** Default: `internal`. */
  readonly kind?: 'consumer' | 'client' | 'internal';
  /** Ids and names only. Undefined members are omitted. */
  readonly attributes: SpanAttributes;
  /** A W3C `traceparent`, which may be broken. Without a valid one the parent is the active span. */
  readonly parent?: string | undefined;
  /** The `traceparent` of the trace that it belongs to: the active span is its parent only in that trace. */
  readonly trace?: string | undefined;
  /** The `traceparent` of others that it is about as well: it has a link to each other trace. */
  readonly others?: readonly (string | undefined)[];
}

export type SpanAttributes = Readonly<Record<string, string | number | undefined>>;

/** A running span. */
export interface RunningSpan {
  /** Marks it as failed, with a code and no text of others. */
  readonly fail: (code: string) => void;
}

/** The tracer, if a collector is configured; otherwise no spans are made. */
export interface Tracing {
  /** Runs the handling of a request: its span is the active one in all that follows from the call. */
  readonly requestScope: (handle: () => void) => void;
  /** Starts the span of the request in scope. Returns a function to call at the end of the request. */
  readonly requestStarted: (request: TracedRequest) => (answer: TracedAnswer) => void;
  /** Runs work inside a span, which ends with the work, as failed when that rejects. */
  readonly inSpan: <T>(options: SpanOptions, work: (span: RunningSpan) => Promise<T>) => Promise<T>;
  /** The W3C `traceparent` of the active span. */
  readonly traceparent: () => string | undefined;
  /** Makes a span without duration for each event of a traced call: the wait between two of them has none. */
  readonly recorded: (events: readonly NewEvent[]) => void;
  /** Flushes undelivered spans. */
  readonly close: () => Promise<void>;
}

const unseen: RunningSpan = { fail: () => undefined };

/** Runs work inside a span; without tracing, as it is. */
export function inSpan<T>(
  tracing: Pick<Tracing, 'inSpan'> | undefined,
  options: () => SpanOptions,
  work: (span: RunningSpan) => Promise<T>,
): Promise<T> {
  return tracing === undefined ? work(unseen) : tracing.inSpan(options(), work);
}
