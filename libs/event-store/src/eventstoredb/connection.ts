import type { Clock, Log } from '@countersign/runtime';
import type { StoreHealth } from '../event-store.js';
import { EventStoreUnavailableError } from '../event-store.js';
import type { EventStoreClient } from './client.js';
import { NoAnswerError, verdictOf } from './errors.js';

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
  /** How long nothing may have been answered, several new clients notwithstanding, before it is said that the process should end; default 10 s. */
  readonly wedgedMs?: number;
}

/** One client of the store, watched: a client that is wedged is replaced. */
export interface Connection {
  /**
   * One call, ended after `deadlineMs` whatever the client does.
   * @throws what the client threw, or NoAnswerError; EventStoreUnavailableError when the store is closed.
   */
  readonly call: <T>(
    deadlineMs: number,
    work: (client: EventStoreClient, signal: AbortSignal) => Promise<T>,
  ) => Promise<T>;
  /** The client in use; `replaced` is aborted when it is not any more. */
  readonly current: () => { readonly client: EventStoreClient; readonly replaced: AbortSignal };
  readonly health: () => StoreHealth;
  /** Aborted when the store is closed. */
  readonly closing: AbortSignal;
  readonly close: () => Promise<void>;
}

/** What a connection needs. */
export interface ConnectionOptions {
  readonly connect: () => EventStoreClient;
  readonly clock: Clock;
  readonly log: Log;
  readonly probeMs: number;
  readonly probe: (client: EventStoreClient, signal: AbortSignal) => Promise<unknown>;
  readonly probeTimeoutMs: number;
  readonly wedgedMs: number;
  /** New clients did not help either: the process should end, and a new one start. */
  readonly onWedged: (why: string) => void;
}

/** Failures in a row, without any answer in between, that a client is given. */
const failuresMax = 3;
/** New clients in a row that got no answer. */
const replacementsMax = 3;
/** How soon the server is asked again after a failure. */
const probeAfterFailureMs = 500;
const disposeMsMax = 2000;

interface Link {
  readonly client: EventStoreClient;
  readonly replaced: AbortController;
}

/** Opens a connection and begins to ask after the server. */
export function createConnection(options: ConnectionOptions): Connection {
  const { clock, log } = options;
  const closing = new AbortController();
  let link: Link = { client: options.connect(), replaced: new AbortController() };
  let [failures, replacements] = [0, 0];
  let problem: string | undefined = 'the event store has not answered yet';
  let heardAt = clock.monotonic();
  let answeredAt = heardAt;
  let isWedged = false;
  let cancelProbe = (): void => undefined;

  const answered = (): void => {
    if (problem !== undefined) log.info({}, 'the event store answers');
    [failures, replacements, problem] = [0, 0, undefined];
    answeredAt = clock.monotonic();
  };
  const failed = (why: string): void => {
    if (problem === undefined) log.warn({ why }, 'the event store does not answer');
    problem = why;
  };
  const replace = (why: string): void => {
    const old = link;
    replacements += 1;
    failures = 0;
    link = { client: options.connect(), replaced: new AbortController() };
    log.warn({ why, replacements }, 'the client of the event store is replaced');
    old.replaced.abort();
    discard(old.client);
    // Many calls at once can use several clients up within a second, while the server is merely restarted.
    if (replacements < replacementsMax || clock.monotonic() - answeredAt < options.wedgedMs) return;
    problem = `no answer from the event store with ${replacements} new clients: ${why}`;
    if (!isWedged) options.onWedged(problem);
    isWedged = true;
  };
  /** Counts what became of a call on the client that is in use; what an older one does says nothing. */
  const note = (used: Link, error?: unknown): void => {
    if (used !== link || closing.signal.aborted) return;
    heardAt = clock.monotonic();
    const verdict = error === undefined ? undefined : verdictOf(error);
    if (verdict?.kind === 'not-written') {
      // A server that says no, or a port that nobody listens on: the client works.
      [failures, replacements] = [0, 0];
      answeredAt = clock.monotonic();
      failed(messageOf(error));
    } else if (verdict?.kind === 'unknown') {
      failures += 1;
      failed(messageOf(error));
      if (failures >= failuresMax) replace(messageOf(error));
    } else answered();
  };
  const call: Connection['call'] = async (deadlineMs, work) => {
    if (closing.signal.aborted) throw new EventStoreUnavailableError('the event store is closed');
    const used = link;
    try {
      const value = await settled(clock, deadlineMs, closing.signal, (signal) => work(used.client, signal));
      note(used);
      return value;
    } catch (error) {
      note(used, error);
      throw error;
    }
  };
  const probe = async (): Promise<void> => {
    const dueMs = problem === undefined ? options.probeMs : probeAfterFailureMs;
    const leftMs = heardAt + dueMs - clock.monotonic();
    // Its failure is noted by `call`.
    if (leftMs <= 0) await call(options.probeTimeoutMs, options.probe).catch(() => undefined);
    if (!closing.signal.aborted)
      cancelProbe = clock.setTimer(Math.max(leftMs, probeAfterFailureMs), () => void probe());
  };
  const discard = (client: EventStoreClient): void => {
    client.dispose().catch((error: unknown) => {
      log.debug({ error }, 'the old client of the event store did not end cleanly');
    });
  };
  heardAt = -Infinity;
  void probe();
  return {
    call,
    current: () => ({ client: link.client, replaced: link.replaced.signal }),
    health: () => {
      if (closing.signal.aborted) return { status: 'unavailable', why: 'the event store is closed' };
      return problem === undefined ? { status: 'ok' } : { status: 'unavailable', why: problem };
    },
    closing: closing.signal,
    close: async () => {
      if (closing.signal.aborted) return;
      closing.abort();
      cancelProbe();
      link.replaced.abort();
      // A client without a connection may never be done with its own end.
      await settled(clock, disposeMsMax, undefined, () => link.client.dispose()).catch(() => undefined);
    },
  };
}

/** The promise's outcome, or the end of the wait: the client leaves some of its promises open for ever. */
function settled<T>(
  clock: Clock,
  deadlineMs: number,
  closing: AbortSignal | undefined,
  work: (signal: AbortSignal) => Promise<T>,
): Promise<T> {
  const over = new AbortController();
  return new Promise<T>((resolve, reject) => {
    const giveUp = (why: string): void => {
      end();
      reject(new NoAnswerError(why));
      over.abort();
    };
    const cancelTimer = clock.setTimer(deadlineMs, () => {
      giveUp(`no answer within ${deadlineMs} ms`);
    });
    const close = (): void => {
      giveUp('the event store was closed meanwhile');
    };
    const end = (): void => {
      cancelTimer();
      closing?.removeEventListener('abort', close);
    };
    closing?.addEventListener('abort', close, { once: true });
    const run = async (): Promise<T> => work(over.signal);
    // A late rejection finds its handler here, too.
    run().then(
      (value) => {
        end();
        resolve(value);
      },
      (error: unknown) => {
        end();
        reject(error instanceof Error ? error : new Error(String(error)));
      },
    );
  });
}

function messageOf(error: unknown): string {
  return error instanceof Error ? error.message : String(error);
}
