import { createRelay, createRelayMetrics } from '@countersign/relay';
import { openTopics } from '../kafka.js';
import { openRecord } from '../record.js';
import { openEventStore } from '../role-process.js';
import type { OpenRole } from '../role-process.js';

/** Publishes the recorded events. One relay is active; the others are on standby. */
export function readRelay(): Promise<OpenRole> {
  return Promise.resolve(async (process) => {
    const { log, registry, onStop, check } = process;
    const { store, ownRecord } = await openEventStore(process);
    await openRecord(process, ownRecord);
    const { clock } = store;
    const { kafka, names, group } = await openTopics(process, ({ events }) => [events]);
    const metrics = createRelayMetrics(registry);
    const { publisher } = kafka;
    const turns = kafka.exclusiveProgress(group('relay'));
    const relay = createRelay({ store, publisher, turns, topic: names.events, clock, log, metrics });
    metrics.observe(relay, () => store.head());
    onStop(() => relay.stop());
    relay.start();
    check({
      name: 'relay',
      check: () => {
        const health = relay.health();
        if (health.status === 'failed') return { status: 'failing', why: health.why };
        return {
          status: 'ok',
          note: health.role === 'active' ? 'publishes' : 'on standby: another relay publishes',
        };
      },
    });
  });
}
