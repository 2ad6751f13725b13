import { sleep } from '@countersign/runtime';
import type { Clock, Log } from '@countersign/runtime';
import { GrammyError } from 'grammy';
import type { ChannelConfigOf } from '../config/load-channels.js';
import { retryPauseMs } from '../retry-pause.js';
import { createTelegramApi } from './telegram-channel.js';
import { createTelegramUpdates } from './telegram-surface.js';
import type { TelegramSurfacePorts } from './telegram-surface.js';

const waitS = 8;
const standByMs = 30_000;
/** A server that does not wait for updates, as Telegram does, is not asked more often. */
const emptyMsMin = 1_000;

/**
 * Fetches the updates of a bot that has no public address. What was fetched is dealt with before it counts as taken, so
 * that an end in between loses nothing. Telegram lets one process at a time fetch for a bot: of several, those that are
 * refused stand by, and ask again now and then. Answers how to stop it.
 */
export function pollTelegram(
  config: ChannelConfigOf<'telegram'>,
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
          offset = update.update_id + 1;
        }
        failures = 0;
        const leftMs = askedAt + emptyMsMin - ports.clock.monotonic();
        if (page.length === 0 && leftMs > 0) await sleep(ports.clock, leftMs, stopping.signal);
      } catch (error) {
        failures += 1;
        await sleep(ports.clock, pauseMsOf(error, failures, config.id, ports.log), stopping.signal);
      }
    }
  };
  const running = run();
  return async () => {
    stopping.abort();
    await running;
  };
}

/** Only what kind of error it is: its words may name the url, which has the bot's token in it. */
function pauseMsOf(error: unknown, failures: number, channelId: string, log: Log): number {
  if (error instanceof GrammyError && error.error_code === 409) {
    log.info({ channelId }, 'another process fetches the updates of this bot; this one stands by');
    return standByMs;
  }
  log.warn({ channelId }, 'Telegram cannot be asked for updates now; it is asked again');
  return retryPauseMs(failures);
}
