import { Counter, Gauge } from 'prom-client';
import type { Registry } from 'prom-client';
import type { Notifier } from './notifier-port.js';

const states = ['ok', 'failing', 'off'] as const;

/** The figures of a notifier in a registry: how each channel is doing, and what waits for it. */
export function createNotifierMetrics(registry: Registry, notifier: Pick<Notifier, 'status'>): void {
  registry.registerMetric(
    new Gauge({
      name: 'countersign_channel_state',
      help: 'Whether a channel takes messages: 1 for the state that it is in.',
      labelNames: ['channel', 'state'],
      registers: [],
      collect() {
        for (const [channel, { state }] of Object.entries(notifier.status().channels)) {
          for (const one of states) this.set({ channel, state: one }, one === state ? 1 : 0);
        }
      },
    }),
  );
  registry.registerMetric(
    new Gauge({
      name: 'countersign_channel_waiting',
      help: 'Messages that wait for their turn in this process.',
      labelNames: ['channel'],
      registers: [],
      collect() {
        for (const [channel, { waiting }] of Object.entries(notifier.status().channels)) this.set({ channel }, waiting);
      },
    }),
  );
  registry.registerMetric(
    new Counter({
      name: 'countersign_notifications_undeliverable_total',
      help: 'Messages that are not sent again: the other side refused the message or its recipient, or the channel failed for three days.',
      labelNames: ['channel', 'about'],
      registers: [],
      collect() {
        this.reset();
        for (const [channel, { givenUp }] of Object.entries(notifier.status().channels)) {
          for (const [about, count] of Object.entries(givenUp)) this.inc({ channel, about }, count);
        }
      },
    }),
  );
  registry.registerMetric(
    new Counter({
      name: 'countersign_requesters_untold_total',
      help: 'Outcomes that the person behind a request did not hear of: the channels file has no address of theirs.',
      registers: [],
      collect() {
        this.reset();
        this.inc(notifier.status().untold);
      },
    }),
  );
  registry.registerMetric(
    new Gauge({
      name: 'countersign_notifications_planned',
      help: 'Questions, reminders and further tries that are due later.',
      registers: [],
      collect() {
        this.set(notifier.status().planned);
      },
    }),
  );
}
