import { sleep } from '@countersign/runtime';
import type { ChannelConfigOf } from '../config/load-channels.js';
import { retryPauseMs } from '../retry-pause.js';
import { slackFailureOf } from './slack-client.js';
import { createSlackInteractions } from './slack-interactions.js';
import type { SlackInteractions, SlackPorts } from './slack-interactions.js';
import type { Envelope, SlackConnection } from './slack-socket-client.js';

/** From the first request to Slack's hello. */
const helloMs = 15_000;
/** How long Slack may take to acknowledge the end of a connection. */
const closeMs = 2_000;
/** A connection that lasted this long did not fail for a lasting reason. */
const steadyMs = 60_000;

/**
 * Listens to a Slack app without a public address through socket mode. It reconnects whenever the connection ends: at
 * once when it had lasted, with backoff when it had not. Several processes may listen: Slack gives each envelope to one
 * of them, and a repeated envelope is the same command. Returns a function that stops it.
 */
export function listenToSlack(config: ChannelConfigOf<'slack'>, ports: SlackPorts): () => Promise<void> {
  const listener = new SlackListener(config, ports);
  const running = listener.run();
  return async () => {
    listener.stop();
    await running;
  };
}

class SlackListener {
  readonly #config: ChannelConfigOf<'slack'>;
  readonly #ports: SlackPorts;
  readonly #interactions: SlackInteractions;
  readonly #stopping = new AbortController();
  readonly #taken = new Set<Promise<void>>();

  constructor(config: ChannelConfigOf<'slack'>, ports: SlackPorts) {
    this.#config = config;
    this.#ports = ports;
    this.#interactions = createSlackInteractions(config, ports, 503);
  }

  stop(): void {
    this.#stopping.abort();
  }

  async run(): Promise<void> {
    const { clock } = this.#ports;
    const { signal } = this.#stopping;
    for (let failures = 0; !signal.aborted;) {
      const from = clock.monotonic();
      const askedMs = await this.#listen();
      failures = clock.monotonic() - from >= steadyMs ? 0 : failures + 1;
      if (failures > 0) await sleep(clock, retryPauseMs(failures, askedMs), signal);
    }
    await Promise.all(this.#taken);
  }

  /** Runs one connection to its end. Returns how long Slack wants no new connection. */
  async #listen(): Promise<number> {
    const { clock, log } = this.#ports;
    const { id: channelId } = this.#config;
    const { signal } = this.#stopping;
    // Only a listener loads the vendor's client.
    const { createSlackConnection } = await import('./slack-socket-client.js');
    const connection = createSlackConnection(this.#config, (envelope) => this.#take(envelope), signal);
    const end = (): void => void this.#close(connection);
    const cancelTimeout = clock.setTimer(helloMs, end);
    signal.addEventListener('abort', end);
    try {
      await connection.open();
      cancelTimeout();
      log.info({ channelId }, 'listening to Slack');
      if (!signal.aborted) await connection.over;
      return 0;
    } catch (error) {
      if (signal.aborted) return 0;
      const { reason, afterMs = 0 } = slackFailureOf(error);
      log.warn({ channelId, reason }, 'the Slack connection failed; retrying');
      return afterMs;
    } finally {
      cancelTimeout();
      signal.removeEventListener('abort', end);
      await this.#close(connection);
    }
  }

  async #close({ close, over }: SlackConnection): Promise<void> {
    const ended = new AbortController();
    const patience = sleep(this.#ports.clock, closeMs, ended.signal).then(() => 'asked in vain' as const);
    close();
    const outcome = await Promise.race([over, patience]);
    ended.abort();
    if (outcome === 'asked in vain') close();
  }

  #take(envelope: Envelope): void {
    const taking = this.#answer(envelope).catch(() => {
      this.#ports.log.warn({ channelId: this.#config.id }, 'an envelope of Slack could not be acknowledged');
    });
    this.#taken.add(taking);
    void taking.then(() => this.#taken.delete(taking));
  }

  /** Unknown envelopes are acknowledged too, or Slack would send them again. */
  async #answer({ type, body, ack }: Envelope): Promise<void> {
    if (type !== 'interactive') return ack();
    const { status, body: answer, done } = await this.#interactions.take(JSON.stringify(body ?? null));
    // Slack shows an envelope that is not acknowledged as failed, and may give it again.
    await Promise.all([status < 500 ? ack(answer) : undefined, done]);
  }
}
