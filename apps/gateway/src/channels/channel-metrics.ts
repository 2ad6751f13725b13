import { channelRecordOf, endpointOf } from '@countersign/channels';
import type { ChannelConfig, ChannelRecord } from '@countersign/channels';
import { channelStream, isReadable } from '@countersign/contracts';
import type { DeliveryEvent } from '@countersign/contracts';
import { Gauge } from 'prom-client';
import type { GatewayPorts } from '../ports.js';
import { createFailingChannels } from './failing-channels.js';

const statuses = ['unserved', 'on', 'failing', 'off'] as const;

/**
 * Adds the metric of each channel's state in the log. It is the same at every gateway. Returns a function that stops
 * it.
 */
export function observeChannels(
  { metrics, store, readModel, clock, log }: Pick<GatewayPorts, 'metrics' | 'store' | 'readModel' | 'clock' | 'log'>,
  channels: readonly ChannelConfig[],
): () => void {
  const known = new Map<string, Promise<ChannelRecord>>();
  const failing = createFailingChannels({ store, readModel, clock, log });
  const stopping = new AbortController();
  void failing.recover(stopping.signal);
  const read = async (channel: ChannelConfig): Promise<ChannelRecord> => {
    const events = await store.readStream(channelStream(channel.id));
    return channelRecordOf(events.filter(isReadable) as unknown as readonly DeliveryEvent[], endpointOf(channel));
  };
  const recordOf = async (channel: ChannelConfig): Promise<ChannelRecord | undefined> => {
    const reading = known.get(channel.id) ?? read(channel);
    known.set(channel.id, reading);
    try {
      return await reading;
    } catch {
      // The store is unreachable, which other checks report. The next scrape tries again.
      known.delete(channel.id);
      return undefined;
    }
  };
  metrics.registry.registerMetric(
    new Gauge({
      name: 'countersign_channel_recorded',
      help: 'What the log says of a channel: 1 for unserved (by no notifier, ever), on, failing (its last message), or off (the other side wants no more).',
      labelNames: ['channel', 'state'],
      registers: [],
      async collect() {
        for (const channel of channels) {
          const record = await recordOf(channel);
          const status = record?.status === 'on' && failing.has(channel.id) ? 'failing' : record?.status;
          for (const state of statuses) this.set({ channel: channel.id, state }, state === status ? 1 : 0);
        }
      },
    }),
  );
  const stopListening = readModel.onApplied(({ events }) => {
    failing.learn(events);
    for (const { type, data } of events.filter(isReadable)) {
      const isOfChannel = type === 'ChannelActivated' || type === 'ChannelSwitchedOff';
      if (isOfChannel) known.delete((data as { readonly channelId: string }).channelId);
    }
  });
  return () => {
    stopping.abort();
    stopListening();
  };
}
