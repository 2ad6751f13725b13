import { createDurations, createGauges, createMetricsRegistry } from '@countersign/shell';
import { Counter } from 'prom-client';
import type { Registry } from 'prom-client';
import type { RelayStatus } from './relay-status.js';

/** The figures of a relay. */
export interface RelayMetrics {
  readonly registry: Registry;
  /** The number of events that were published together, and the duration, including failed tries. */
  readonly published: (events: number, durationMs: number) => void;
  readonly publishFailed: () => void;
  /** An event was too large for the topic and was published without a part of its data. */
  readonly shortened: () => void;
  /** The leadership went to another process. */
  readonly fenced: () => void;
  /** Collects these at each scrape. */
  readonly observe: (relay: { readonly status: () => RelayStatus }, head: () => Promise<number>) => void;
}

/** Metrics in the given registry, or in their own. */
export function createRelayMetrics(registry: Registry = createMetricsRegistry()): RelayMetrics {
  const registers = [registry];
  const counter = (name: string, help: string): Counter => new Counter({ name, help, registers });
  const events = counter('countersign_relay_published_events_total', 'Events published, repeats included.');
  const failures = counter('countersign_relay_publish_failures_total', 'Tries to publish that failed.');
  const shortened = counter(
    'countersign_relay_shortened_events_total',
    'Events published without a part of their data.',
  );
  const fenced = counter('countersign_relay_fenced_total', 'Turns lost to another process.');
  const timed = createDurations(registry)(
    'countersign_relay_publish_seconds',
    'Time to publish a batch of events, failed tries included.',
  );
  return {
    registry,
    published: (count, durationMs) => {
      events.inc(count);
      timed(durationMs);
    },
    publishFailed: () => failures.inc(),
    shortened: () => shortened.inc(),
    fenced: () => fenced.inc(),
    observe: (relay, head) => observe(registry, relay, head),
  };
}

function observe(registry: Registry, relay: { readonly status: () => RelayStatus }, head: () => Promise<number>): void {
  const gauge = createGauges(registry);
  gauge('countersign_relay_active', '1 while this process publishes, 0 while it stands by.', () =>
    relay.status().state === 'active' ? 1 : 0,
  );
  gauge('countersign_relay_waiting_events', 'Events read and not yet published.', () => relay.status().waiting);
  gauge(
    'countersign_relay_lag_seconds',
    'Age of the oldest event read and not yet published.',
    () => relay.status().lagMs / 1000,
  );
  gauge(
    'countersign_relay_position',
    'Position of the last event published in this turn.',
    () => relay.status().position,
  );
  // An unreachable store must not break the other metrics.
  gauge('countersign_relay_head_position', 'Position of the last event recorded.', () =>
    head().catch(() => Number.NaN),
  );
}
