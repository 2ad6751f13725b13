/**
 * The part of a vendor's client that the adapter uses. It is small, so another client is one more file (like
 * `db-client.ts`). Its promises may hang and its errors are the vendor's own: the adapter adds deadlines, retries and
 * their meaning.
 */
export interface EventStoreClient {
  /** Appends at exactly that revision. Gives up on the wire after `deadlineMs`. */
  readonly append: (
    stream: string,
    expectedRevision: bigint | 'no_stream',
    events: readonly ClientNewEvent[],
    deadlineMs: number,
  ) => Promise<ClientAppended>;
  readonly readStream: (
    stream: string,
    fromRevision: bigint,
    count: number,
    signal: AbortSignal,
  ) => Promise<readonly ClientEvent[]>;
  /** Reads the last events of a stream, the newest first. */
  readonly readLast: (stream: string, count: number, signal: AbortSignal) => Promise<readonly ClientEvent[]>;
  /** Reads `$all` from a position, which is included or not. The page ends early with the event that reaches `bytesMax`. */
  readonly readAll: (
    from: ClientPosition | 'start' | 'end',
    direction: 'forwards' | 'backwards',
    limits: PageLimits,
    signal: AbortSignal,
  ) => Promise<ClientPage>;
  /** Everything in `$all` after a position, in streams whose names begin with one of these. */
  readonly subscribeToAll: (after: ClientPosition | 'start', prefixes: readonly string[]) => ClientSubscription;
  /** Ends every call and the connection. */
  readonly dispose: () => Promise<void>;
}

/** Opens a client. @throws when the connection string is not usable. */
export type ConnectClient = (url: string) => EventStoreClient;

/** How much one page may have. */
export interface PageLimits {
  readonly count: number;
  /** About so many bytes of JSON. */
  readonly bytesMax: number;
}

/** Events in the order of a read. */
export interface ClientPage {
  readonly events: readonly ClientEvent[];
  /** More events are there, because the page ended early by its bytes. */
  readonly isCut: boolean;
}

/** A place in the server's transaction log. */
export interface ClientPosition {
  readonly commit: bigint;
  readonly prepare: bigint;
}

/** The server's answer to an append: the last event's revision in its stream, and its position if the server tells it. */
export interface ClientAppended {
  readonly revision: bigint;
  readonly position: ClientPosition | undefined;
}

/** An event on its way to the server. */
export interface ClientNewEvent {
  readonly id: string;
  readonly type: string;
  /** Plain JSON, parsed from our own text, so that serialising it again can neither fail nor differ. */
  readonly data: Record<string, unknown>;
  readonly metadata: Uint8Array;
}

/** An event as the client returns it. It may be another application's, so every member is optional. */
export interface ClientEvent {
  readonly id: string;
  readonly type: string;
  readonly streamId: string;
  readonly revision: bigint;
  readonly data: unknown;
  readonly metadata: unknown;
  readonly created: Date;
  /** Servers before 22.6 do not return it to readers of a stream. */
  readonly position: ClientPosition | undefined;
}

/** The items of a subscription, in this order. */
export type ClientItem =
  | { readonly kind: 'event'; readonly event: ClientEvent }
  /** The server has looked through the log up to here, and found nothing else that matches. */
  | { readonly kind: 'checkpoint'; readonly position: ClientPosition }
  | { readonly kind: 'caught-up' };

/** A running subscription. It is pulled, so a slow reader slows the server down. */
export interface ClientSubscription {
  /**
   * Returns what has arrived; empty when nothing has. @throws the error that ended it, after everything before that is
   * read.
   */
  readonly take: (max: number) => readonly ClientItem[];
  readonly hasMore: () => boolean;
  /**
   * Calls back once when an item is available or the subscription has ended. Returns a function that cancels the
   * callback.
   */
  readonly onArrival: (arrived: () => void) => () => void;
  readonly stop: () => void;
}
