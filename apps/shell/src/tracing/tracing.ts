import type { Log } from '@countersign/runtime';

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
}

/** The result of a request. */
export interface TracedAnswer {
  readonly status: number;
  /** The calls of the request that its path does not name. */
  readonly callIds: readonly string[];
}

/** The tracer, if a collector is configured; otherwise no spans are made. */
export interface Tracing {
  /** Returns a function to call at the end of the request. */
  readonly requestStarted: (request: TracedRequest) => (answer: TracedAnswer) => void;
  /** Flushes undelivered spans. */
  readonly close: () => Promise<void>;
}
