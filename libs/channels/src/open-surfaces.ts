import type { ChannelConfig } from './config/load-channels.js';
import type { SlackPorts } from './slack/slack-interactions.js';
import type { Surface } from './surface.js';

/** Receives the responses that a vendor pushes (Telegram `mode: webhook`, Slack `mode: http`). */
export async function openSurfaces(channels: readonly ChannelConfig[], ports: SlackPorts): Promise<readonly Surface[]> {
  const surfaces = await Promise.all(channels.map((channel) => openSurface(channel, ports)));
  return surfaces.filter((surface) => surface !== undefined);
}

async function openSurface(channel: ChannelConfig, ports: SlackPorts): Promise<Surface | undefined> {
  if (channel.type === 'slack' && channel.mode === 'http') {
    const { createSlackSurface } = await import('./slack/slack-surface.js');
    return createSlackSurface(channel, ports);
  }
  if (channel.type === 'telegram' && channel.mode === 'webhook') {
    const { createTelegramSurface } = await import('./telegram/telegram-surface.js');
    return createTelegramSurface(channel, ports);
  }
  return undefined;
}
