import type { Log } from '@countersign/runtime';

/** What tracing is told. */
export interface TracingOptions {
  /** The service's name where `OTEL_SERVICE_NAME` does not say another. */
  readonly service: string;
  readonly env: Readonly<Record<string, string | undefined>>;
  readonly log: Log;
}

/** A request that has come. Ids and the route alone: what a tool is given or answers never reaches a tracer. */
export interface TracedRequest {
  readonly method: string;
  /** The path of the route, such as `/v1/tool-calls/{callId}`. */
  readonly route: string;
  /** The W3C header that the request carried. */
  readonly traceparent: string | string[] | undefined;
  /** The parameters of the path: `callId`, `approvalId`, `runId`. */
  readonly ids: Readonly<Record<string, string>>;
}

/** How a request ended. */
export interface TracedAnswer {
  readonly status: number;
  /** The calls that it made, which no path names. */
  readonly callIds: readonly string[];
}

/** Where spans go, for whoever runs a collector; without one nothing is made. */
export interface Tracing {
  /** Answers what to call at the end of the request. */
  readonly requestStarted: (request: TracedRequest) => (answer: TracedAnswer) => void;
  /** Delivers what has not been delivered yet. */
  readonly close: () => Promise<void>;
}
