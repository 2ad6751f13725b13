import type { ChannelConfig } from './config/load-channels.js';
import type { SlackPorts } from './slack/slack-interactions.js';

/** Whether the answers of a channel are fetched, and do not come to a gateway by themselves. */
export function isFetched(channel: ChannelConfig): boolean {
  return 'mode' in channel && (channel.mode === 'polling' || channel.mode === 'socket');
}

type Stop = () => Promise<void>;

/**
 * Fetches the answers that do not come by themselves: of channels whose vendor has no address of ours to send them to
 * (Telegram `mode: polling`, Slack `mode: socket`). Answers how to stop it.
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
