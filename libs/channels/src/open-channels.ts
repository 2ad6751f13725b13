import type { Clock } from '@countersign/runtime';
import type { Channel } from './channel.js';
import type { ChannelsConfig } from './config/load-channels.js';
import { createEmailChannel } from './email/email-channel.js';
import { createSlackChannel } from './slack/slack-channel.js';
import { createTelegramChannel } from './telegram/telegram-channel.js';
import { createWebhookChannel } from './webhook/webhook-channel.js';

export interface OpenChannelsOptions {
  readonly clock: Clock;
  /** `COUNTERSIGN_PUBLIC_URL`: where people reach the gateway; null: links are left out. */
  readonly publicUrl: string | null;
}

/** Every channel of a channels file. Nothing is connected to before the first message. */
export function createChannels(
  { channels }: Pick<ChannelsConfig, 'channels'>,
  { clock, publicUrl }: OpenChannelsOptions,
): readonly Channel[] {
  return channels.map((config) => {
    switch (config.type) {
      case 'slack':
        return createSlackChannel(config);
      case 'telegram':
        return createTelegramChannel(config);
      case 'email':
        return createEmailChannel(config, { publicUrl });
      case 'webhook':
        return createWebhookChannel(config, { clock });
    }
  });
}
