import type { Clock, Log } from '@countersign/runtime';
import type { StoreHealth } from '../event-store.js';
import type { EventStoreClient } from './client.js';
import type { Endpoint } from './connection-string.js';
import type { Members } from './members.js';

/** Time limits, in ms. */
export interface EventStoreDbTimeouts {
  /** One try of an append; default 5 s. The server itself gives up after 2 s. */
  readonly appendMs?: number;
  /** One page of a read; default 10 s. */
  readonly readMs?: number;
  /** After this silence the server is asked; default 5 s. */
  readonly probeMs?: number;
  /** After this silence of a subscription its position is compared with the end of the log; default 30 s. */
  readonly silenceMs?: number;
  /**
   * How long clients may get no response from a server that responds to others, before the process ends; default 10 s.
   */
  readonly wedgedMs?: number;
}

/** One client of the store and its server. `replaced` is aborted when the client is no longer used. */
export interface Link {
  readonly client: EventStoreClient;
  readonly server: Endpoint;
  readonly replaced: AbortSignal;
}

/** A supervised client of the store: it connects to the leader, and a wedged one is replaced. */
export interface Connection {
  /**
   * Runs one call. It ends after `deadlineMs` in every case, and at once when the client is replaced.
   * @throws the client's error, NoAnswerError or ReplacedError; EventStoreUnavailableError when the store is closed, or
   *   no leader was found in time: then nothing was sent.
   */
  readonly call: <T>(
    deadlineMs: number,
    work: (client: EventStoreClient, signal: AbortSignal) => Promise<T>,
  ) => Promise<T>;
  /** The current client, as soon as there is one. @throws EventStoreUnavailableError when the store is closed. */
  readonly linked: () => Promise<Link>;
  readonly health: () => StoreHealth;
  /** Aborted when the store is closed. */
  readonly closing: AbortSignal;
  readonly close: () => Promise<void>;
}

/** The dependencies of a connection. */
export interface ConnectionOptions {
  /** Opens a client to one server. */
  readonly connect: (server: Endpoint) => EventStoreClient;
  /** The only server; undefined in a cluster, where the members name the leader. */
  readonly only: Endpoint | undefined;
  readonly members: Members;
  readonly clock: Clock;
  readonly log: Log;
  readonly probeMs: number;
  readonly probe: (client: EventStoreClient, signal: AbortSignal) => Promise<unknown>;
  readonly probeTimeoutMs: number;
  readonly wedgedMs: number;
  /** The server has responded for the first time. */
  readonly onAnswer: (server: Endpoint) => void;
  /**
   * The server responds to others, and new clients got no response: the process should end, so that a new one starts.
   */
  readonly onWedged: (why: string) => void;
}
