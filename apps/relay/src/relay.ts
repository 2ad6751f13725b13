import { sleep } from '@countersign/runtime';
import type { RelayOptions } from './relay-options.js';
import type { RelayStatus } from './relay-status.js';
import { Leadership } from './leadership.js';

export type RelayHealth =
  { readonly status: 'ok'; readonly role: 'standby' | 'active' } | { readonly status: 'failed'; readonly why: string };

/** Publishes what the event store records: each event once or more, first copies in the order of the log. */
export interface Relay {
  /** Stands by, and publishes while it is the leader. */
  readonly start: () => void;
  /** Stops publishing, stores the progress, and gives up the leadership at once. */
  readonly stop: () => Promise<void>;
  readonly status: () => RelayStatus;
  /** For `/readyz`: standing by is well. */
  readonly health: () => RelayHealth;
}

const retakeMs = 1_000;
/** How long `stop` waits for a batch in flight. */
const drainMs = 4_000;

/**
 * A relay over its ports. The log is the outbox: nothing is written but the progress, so a relay that dies between
 * publishing and keeping publishes the last events once more, in order.
 * @example
 * const relay = createRelay({ store, publisher, turns, topic: topicNames().events, clock, log });
 * relay.start();
 */
export function createRelay(options: RelayOptions): Relay {
  const { turns, clock, log, metrics } = options;
  const stopping = new AbortController();
  let current: Leadership | undefined;
  let notTaken: string | undefined;
  let running: Promise<void> | undefined;

  const isStopping = (): boolean => stopping.signal.aborted;
  const takeTurn = async (): Promise<void> => {
    const turn = await turns.take(stopping.signal);
    notTaken = undefined;
    log.info({ progress: turn.progress }, 'this relay is active');
    current = new Leadership(options, turn, stopping.signal);
    try {
      await current.run();
    } finally {
      current = undefined;
    }
    if (isStopping()) return;
    metrics?.fenced();
    log.warn({}, 'another relay has taken over; this one is on standby');
  };
  const run = async (): Promise<void> => {
    while (!isStopping()) {
      try {
        await takeTurn();
      } catch (error) {
        // Standing in line ends with the reason of the stop.
        if (isStopping()) return;
        notTaken = error instanceof Error ? error.message : String(error);
        log.error({ error }, 'the relay cannot work; retrying');
        await sleep(clock, retakeMs, stopping.signal);
      }
    }
  };
  const status = (): RelayStatus => {
    if (running === undefined || isStopping()) return { state: 'stopped', ...nothing };
    if (current === undefined)
      return { state: 'standby', ...nothing, ...(notTaken !== undefined && { why: notTaken }) };
    const { position, waiting, oldestAt, why } = current.figures();
    const lagMs = oldestAt === undefined ? 0 : Math.max(0, clock.now() - Date.parse(oldestAt));
    return { state: 'active', position, waiting, lagMs, ...(why !== undefined && { why }) };
  };
  return {
    start: () => void (running ??= run()),
    stop: async () => {
      stopping.abort(new Error('the relay stops'));
      const waited = new AbortController();
      await Promise.race([running, sleep(clock, drainMs, waited.signal)]);
      waited.abort();
    },
    status,
    health: () => {
      const { state, why } = status();
      if (state === 'stopped') return { status: 'failed', why: 'the relay is stopped' };
      return why === undefined ? { status: 'ok', role: state } : { status: 'failed', why };
    },
  };
}

const nothing = { position: 0, waiting: 0, lagMs: 0 } as const;
