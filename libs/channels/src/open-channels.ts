import type { Clock } from '@countersign/runtime';
import type { Channel } from './channel.js';
import type { ChannelConfig, ChannelsConfig } from './config/load-channels.js';

export interface OpenChannelsOptions {
  readonly clock: Clock;
  /** `COUNTERSIGN_PUBLIC_URL`: where people reach the gateway; null: links are left out. */
  readonly publicUrl: string | null;
}

/**
 * Every channel of a channels file. Nothing connects before the first message, and a vendor's client is loaded only
 * when a channel needs it: together they take a third of the start time.
 */
export function openChannels(
  { channels }: Pick<ChannelsConfig, 'channels'>,
  options: OpenChannelsOptions,
): Promise<readonly Channel[]> {
  return Promise.all(channels.map((config) => openChannel(config, options)));
}

async function openChannel(config: ChannelConfig, { clock, publicUrl }: OpenChannelsOptions): Promise<Channel> {
  switch (config.type) {
    case 'slack': {
      const { createSlackChannel } = await import('./slack/slack-channel.js');
      return createSlackChannel(config, { publicUrl });
    }
    case 'telegram': {
      const { createTelegramChannel } = await import('./telegram/telegram-channel.js');
      return createTelegramChannel(config, { publicUrl });
    }
    case 'teams': {
      const { createTeamsChannel } = await import('./teams/teams-channel.js');
      return createTeamsChannel(config, { clock, publicUrl });
    }
    case 'email': {
      const { createEmailChannel } = await import('./email/email-channel.js');
      return createEmailChannel(config, { publicUrl });
    }
    case 'webhook': {
      const { createWebhookChannel } = await import('./webhook/webhook-channel.js');
      return createWebhookChannel(config, { clock, publicUrl });
    }
  }
}
