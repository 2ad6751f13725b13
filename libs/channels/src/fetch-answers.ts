import type { ChannelConfig } from './config/load-channels.js';
import type { SlackPorts } from './slack/slack-interactions.js';
import { listenToSlack } from './slack/slack-socket.js';
import { pollTelegram } from './telegram/telegram-polling.js';

/**
 * Fetches the answers that do not come by themselves: of channels whose vendor has no address of ours to send them to
 * (Telegram `mode: polling`, Slack `mode: socket`). Answers how to stop it.
 */
export function fetchAnswers(channels: readonly ChannelConfig[], ports: SlackPorts): () => Promise<void> {
  const stops = channels.flatMap((channel) => {
    if (channel.type === 'telegram' && channel.mode === 'polling') return [pollTelegram(channel, ports)];
    if (channel.type === 'slack' && channel.mode === 'socket') return [listenToSlack(channel, ports)];
    return [];
  });
  return async () => {
    await Promise.all(stops.map((stop) => stop()));
  };
}
