import type { ChannelConfig } from './config/load-channels.js';
import type { SlackPorts } from './slack/slack-interactions.js';
import type { Surface } from './surface.js';
import type { BotFrameworkAuth, BotFrameworkBot } from './teams/bot-framework-auth.js';

/** What the surfaces need. */
export interface SurfacePorts extends SlackPorts {
  /** Checks the tokens of the Bot Connector; called for a channel of Teams alone. */
  readonly botFrameworkAuth: (bot: BotFrameworkBot) => Promise<BotFrameworkAuth>;
}

/** Receives the responses that a vendor pushes (Telegram `mode: webhook`, Slack `mode: http`, Teams). */
export async function openSurfaces(
  channels: readonly ChannelConfig[],
  ports: SurfacePorts,
): Promise<readonly Surface[]> {
  const surfaces = await Promise.all(channels.map((channel) => openSurface(channel, ports)));
  return surfaces.filter((surface) => surface !== undefined);
}

async function openSurface(channel: ChannelConfig, ports: SurfacePorts): Promise<Surface | undefined> {
  if (channel.type === 'slack' && channel.mode === 'http') {
    const { createSlackSurface } = await import('./slack/slack-surface.js');
    return createSlackSurface(channel, ports);
  }
  if (channel.type === 'telegram' && channel.mode === 'webhook') {
    const { createTelegramSurface } = await import('./telegram/telegram-surface.js');
    return createTelegramSurface(channel, ports);
  }
  if (channel.type === 'teams') {
    const { createTeamsSurface } = await import('./teams/teams-surface.js');
    return createTeamsSurface(channel, { ...ports, auth: await ports.botFrameworkAuth(channel) });
  }
  return undefined;
}
