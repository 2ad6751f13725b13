import type { ChannelConfig } from './config/load-channels.js';
import type { SlackPorts } from './slack/slack-interactions.js';

/** Returns whether the responses of a channel are polled instead of pushed to a gateway. */
export function isFetched(channel: ChannelConfig): boolean {
  return 'mode' in channel && (channel.mode === 'polling' || channel.mode === 'socket');
}

type Stop = () => Promise<void>;

/**
 * Polls for responses of channels without a public address (Telegram `mode: polling`, Slack `mode: socket`). Returns a
 * function that stops it.
 */
export async function fetchAnswers(channels: readonly ChannelConfig[], ports: SlackPorts): Promise<Stop> {
  const stops = await Promise.all(channels.map((channel) => fetchFrom(channel, ports)));
  return async () => {
    await Promise.all(stops.filter((stop) => stop !== undefined).map((stop) => stop()));
  };
}

async function fetchFrom(channel: ChannelConfig, ports: SlackPorts): Promise<Stop | undefined> {
  if (channel.type === 'telegram' && channel.mode === 'polling') {
    const { pollTelegram } = await import('./telegram/telegram-polling.js');
    return pollTelegram(channel, ports);
  }
  if (channel.type === 'slack' && channel.mode === 'socket') {
    const { listenToSlack } = await import('./slack/slack-socket.js');
    return listenToSlack(channel, ports);
  }
  return undefined;
}
