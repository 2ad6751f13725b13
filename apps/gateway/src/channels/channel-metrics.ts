import { channelRecordOf, endpointOf } from '@countersign/channels';
import type { BrokenChannel, ChannelConfig, ChannelRecord } from '@countersign/channels';
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
  broken: readonly BrokenChannel[] = [],
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
  const statusOf = async (channel: ChannelConfig): Promise<string | undefined> => {
    const record = await recordOf(channel);
    return record?.status === 'on' && failing.has(channel.id) ? 'failing' : record?.status;
  };
  metrics.registry.registerMetric(
    new Gauge({
      name: 'countersign_channel_recorded',
      help: 'What the log says of a channel: 1 for unserved (by no notifier, ever), on, failing (its last message), or off (the other side wants no more, or its secrets cannot be used here).',
      labelNames: ['channel', 'state'],
      registers: [],
      async collect() {
        const known = await Promise.all(channels.map(async (one) => [one.id, await statusOf(one)] as const));
        const off = broken.map(({ id }) => [id, 'off'] as const);
        for (const [channel, status] of [...known, ...off]) {
          for (const state of statuses) this.set({ channel, state }, state === status ? 1 : 0);
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
