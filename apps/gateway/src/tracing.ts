/** Where spans go, for whoever runs a tracer; without one nothing is made. */
export interface Tracing {
  /** A request for a route has come, with the W3C `traceparent` that it carried. Answers what to call at its end. */
  readonly requestStarted: (route: string, traceparent: string | string[] | undefined) => (status: number) => void;
}
