import { sleep } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import type { ChannelConfigOf } from '../config/load-channels.js';
import { retryPauseMs } from '../retry-pause.js';
import { createTelegramApi, telegramRefusalOf } from './telegram-channel.js';
import { createTelegramUpdates } from './telegram-surface.js';
import type { TelegramSurfacePorts } from './telegram-surface.js';

type Config = ChannelConfigOf<'telegram'>;

const waitS = 8;
const standByMs = 30_000;
/** A server that does not wait for new updates, as Telegram does, is not asked more often. */
const emptyMsMin = 1_000;

/**
 * Polls the updates of a bot without a public address. An update is handled before it is confirmed, so a crash in
 * between loses nothing. Telegram allows one polling process per bot: the others stand by and retry. Returns a function
 * that stops it.
 */
export function pollTelegram(
  config: Config,
  ports: TelegramSurfacePorts & { readonly clock: Clock },
): () => Promise<void> {
  const api = createTelegramApi(config);
  const updates = createTelegramUpdates(config, ports);
  const stopping = new AbortController();
  // The client's types know an older form of the same signal.
  const signal = stopping.signal as unknown as NonNullable<Parameters<typeof api.getUpdates>[1]>;
  const run = async (): Promise<void> => {
    let offset = 0;
    let failures = 0;
    while (!stopping.signal.aborted) {
      try {
        const wanted = { offset, timeout: waitS, allowed_updates: ['callback_query'] as const };
        const askedAt = ports.clock.monotonic();
        const page = await api.getUpdates(wanted, signal);
        for (const update of page) {
          await updates.take(update);
          if (Number.isSafeInteger(update.update_id)) offset = update.update_id + 1;
        }
        failures = 0;
        const leftMs = askedAt + emptyMsMin - ports.clock.monotonic();
        if (offset === wanted.offset && leftMs > 0) await sleep(ports.clock, leftMs, stopping.signal);
      } catch (error) {
        failures += 1;
        await sleep(ports.clock, pauseMsOf(error, failures, config, ports.log), stopping.signal);
      }
    }
  };
  const running = run();
  return async () => {
    stopping.abort();
    await running;
  };
}

/** Telegram also answers 409 when a webhook is set: that passes only when an operator deletes it, and its words say so. */
function pauseMsOf(error: unknown, failures: number, { id: channelId, botToken }: Config, log: Log): number {
  const { reason, afterMs } = telegramRefusalOf(error, [botToken.reveal()]);
  if (reason.startsWith('Telegram answers 409') && !reason.includes('webhook')) {
    log.info({ channelId }, 'another process polls this bot; this one is on standby');
    return standByMs;
  }
  log.warn({ channelId, reason }, 'fetching updates from Telegram failed; retrying');
  return retryPauseMs(failures, afterMs);
}
