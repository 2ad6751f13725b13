import type { AnswerSignature, ApprovalView, Decision, EventView, LogEventView } from '@countersign/contracts';

/** The methods of the requests that decide and look. */
export type Method = 'GET' | 'POST' | 'DELETE';

/** The optional parts of a request. */
export interface Sent {
  readonly body?: unknown;
  readonly signal?: AbortSignal | undefined;
  /** The response must show the log up to this position. */
  readonly position?: number | undefined;
  /** The page may end before the response comes: the browser sends the request all the same. */
  readonly isLeaving?: boolean | undefined;
}

/** How the components reach Countersign: through the server of the application, or directly. */
export interface ApprovalsClient {
  /**
   * Makes one request of the HTTP API. `path` begins with `/v1/`.
   * @throws ProblemError when the server refuses; UnreachableError when it does not respond.
   */
  readonly send: <T>(method: Method, path: string, sent?: Sent) => Promise<T>;
  /** The recorded events, where the person may follow them. Without them, what is shown is read again every few seconds. */
  readonly events?: EventFeed;
  /** Signs an answer with a passkey, where a rule asks for it. Without it, such a rule is answered in the inbox. */
  readonly sign?: (approval: ApprovalView, decision: Decision, instruction: string) => Promise<AnswerSignature>;
}

/** The events of Countersign. */
export interface EventFeed {
  /** Follows the recorded events without gaps or duplicates. Returns a function that ends it. */
  readonly follow: (options: StreamOptions, listener: StreamListener) => () => void;
  /** Returns the recorded events of a call. */
  readonly read: (callId: string, types: readonly string[], signal: AbortSignal) => Promise<readonly EventView[]>;
}

/** The state of the event stream. */
export type Connection = 'connecting' | 'live' | 'lost' | 'signed-out';

/** Selects the events, and where to start. */
export interface StreamOptions {
  readonly after: number | 'now';
  readonly types: readonly string[];
  readonly callId?: string;
  readonly runId?: string;
}

/** The callbacks of a stream. */
export interface StreamListener {
  readonly onEvent: (event: EventView) => void;
  /** An event that the server cannot read, of any type: its data are null. */
  readonly onUnreadable?: (event: LogEventView) => void;
  readonly onConnection?: (connection: Connection) => void;
  /** The server refuses the stream: the session has ended, or the server was replaced. */
  readonly onRefused?: () => void;
  /** The log was put back to an older state. The stream goes on from now: everything before it must be read again. */
  readonly onRestored?: () => void;
}
