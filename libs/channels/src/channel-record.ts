import type { DeliveryEvent } from '@countersign/contracts';
import type { ChannelConfig } from './config/load-channels.js';
import { webhookEndpoint } from './webhook/webhook-channel.js';

/** The state of a channel in the log: never served by a notifier, served, or switched off by the other side. */
export type ChannelRecord =
  { readonly status: 'unserved' | 'on' } | { readonly status: 'off'; readonly reason: string };

/** Reads the events of the stream of a channel, as far as they concern its address. */
export function channelRecordOf(events: readonly DeliveryEvent[], endpoint = ''): ChannelRecord {
  const off = events.find((event) => event.type === 'ChannelSwitchedOff' && event.data.endpoint === endpoint);
  if (off?.type === 'ChannelSwitchedOff') return { status: 'off', reason: off.data.reason };
  return { status: events.length === 0 ? 'unserved' : 'on' };
}

/** Names the address of the other side where that can switch the channel off. */
export function endpointOf(config: ChannelConfig): string | undefined {
  return config.type === 'webhook' ? webhookEndpoint(config) : undefined;
}
