/**
 * What the adapter asks of a vendor's client: small, so that another client is one file (`db-client.ts` is one). Its
 * promises may hang and its errors are the vendor's own: deadlines, retries and meaning are the adapter's business.
 */
export interface EventStoreClient {
  /** Appends at exactly that revision, and answers the stream's last revision. Gives up on the wire after `deadlineMs`. */
  readonly append: (
    stream: string,
    expectedRevision: bigint | 'no_stream',
    events: readonly ClientNewEvent[],
    deadlineMs: number,
  ) => Promise<bigint>;
  readonly readStream: (
    stream: string,
    fromRevision: bigint,
    count: number,
    signal: AbortSignal,
  ) => Promise<readonly ClientEvent[]>;
  /** Of `$all`, from a position on, that one included or not. */
  readonly readAll: (
    from: ClientPosition | 'start' | 'end',
    direction: 'forwards' | 'backwards',
    count: number,
    signal: AbortSignal,
  ) => Promise<readonly ClientEvent[]>;
  /** Everything in `$all` after a position whose stream's name begins with one of these. */
  readonly subscribeToAll: (after: ClientPosition | 'start', prefixes: readonly string[]) => ClientSubscription;
  /** Ends every call and the connection. */
  readonly dispose: () => Promise<void>;
}

/** Opens a client. @throws when the connection string is not usable. */
export type ConnectClient = (url: string) => EventStoreClient;

/** A place in the server's transaction log. */
export interface ClientPosition {
  readonly commit: bigint;
  readonly prepare: bigint;
}

/** An event on its way to the server. */
export interface ClientNewEvent {
  readonly id: string;
  readonly type: string;
  /** Plain JSON: a copy that came out of our own text, so that serialising it again can neither fail nor differ. */
  readonly data: Record<string, unknown>;
  readonly metadata: Uint8Array;
}

/** An event as the client gives it: anybody's, so nothing is taken for granted. */
export interface ClientEvent {
  readonly id: string;
  readonly type: string;
  readonly streamId: string;
  readonly revision: bigint;
  readonly data: unknown;
  readonly metadata: unknown;
  readonly created: Date;
  /** Servers before 22.6 do not tell it to readers of a stream. */
  readonly position: ClientPosition | undefined;
}

/** What a subscription brings, in this order. */
export type ClientItem =
  | { readonly kind: 'event'; readonly event: ClientEvent }
  /** The server has looked through the log up to here, and found nothing else that matches. */
  | { readonly kind: 'checkpoint'; readonly position: ClientPosition }
  | { readonly kind: 'caught-up' };

/** A running subscription: taken from, never pushed, so that a slow reader holds the server back. */
export interface ClientSubscription {
  /** What has arrived; empty when nothing has. @throws what ended it, once everything before that is taken. */
  readonly take: (max: number) => readonly ClientItem[];
  readonly hasMore: () => boolean;
  /** Calls back once when there is something to take, or it has ended. The answer cancels the wish. */
  readonly onArrival: (arrived: () => void) => () => void;
  readonly stop: () => void;
}
