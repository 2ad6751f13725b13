import type { Clock, Log } from '@countersign/runtime';
import type { StoreHealth } from '../event-store.js';
import type { EventStoreClient } from './client.js';
import type { Endpoint } from './connection-string.js';
import type { Members } from './members.js';

/** How long things may take, in ms. */
export interface EventStoreDbTimeouts {
  /** One try of an append; default 5 s. The server itself gives up after 2. */
  readonly appendMs?: number;
  /** One page of a read; default 10 s. */
  readonly readMs?: number;
  /** How long nothing may be heard before the server is asked; default 5 s. */
  readonly probeMs?: number;
  /** How long a subscription may bring nothing before the end of the log is compared with what it brought; default 30 s. */
  readonly silenceMs?: number;
  /** How long no client may have had an answer, from a server that answers others, before the process should end; default 10 s. */
  readonly wedgedMs?: number;
}

/** One client of the store and where it goes; `replaced` is aborted when it is used no more. */
export interface Link {
  readonly client: EventStoreClient;
  readonly server: Endpoint;
  readonly replaced: AbortSignal;
}

/** A client of the store, watched: it goes to whoever leads, and one that is wedged is replaced. */
export interface Connection {
  /**
   * One call, ended after `deadlineMs` whatever the client does, and at once when the client is replaced.
   * @throws what the client threw, NoAnswerError or ReplacedError; EventStoreUnavailableError when the store is closed, or
   * no leader was found in time: then nothing was sent.
   */
  readonly call: <T>(
    deadlineMs: number,
    work: (client: EventStoreClient, signal: AbortSignal) => Promise<T>,
  ) => Promise<T>;
  /** The client in use, as soon as there is one. @throws EventStoreUnavailableError when the store is closed. */
  readonly linked: () => Promise<Link>;
  readonly health: () => StoreHealth;
  /** Aborted when the store is closed. */
  readonly closing: AbortSignal;
  readonly close: () => Promise<void>;
}

/** What a connection needs. */
export interface ConnectionOptions {
  /** Opens a client to one server. */
  readonly connect: (server: Endpoint) => EventStoreClient;
  /** The one server that there is; undefined in a cluster, where its members say who leads. */
  readonly only: Endpoint | undefined;
  readonly members: Members;
  readonly clock: Clock;
  readonly log: Log;
  readonly probeMs: number;
  readonly probe: (client: EventStoreClient, signal: AbortSignal) => Promise<unknown>;
  readonly probeTimeoutMs: number;
  readonly wedgedMs: number;
  /** The server has answered for the first time. */
  readonly onAnswer: (server: Endpoint) => void;
  /** The server answers others, and new clients got no answer: the process should end, and a new one start. */
  readonly onWedged: (why: string) => void;
}
