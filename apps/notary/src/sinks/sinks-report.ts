import { createLabelledGauge } from '@countersign/shell';
import type { createMetricsRegistry, ReadinessCheck } from '@countersign/shell';
import type { Clock } from '@countersign/runtime';
import type { SinkState } from './sinks.js';

/** Names the sinks that lack something. The process is ready all the same: they get it later. */
export function createSinksCheck(states: () => readonly SinkState[]): ReadinessCheck {
  return {
    name: 'log-sinks',
    check: () => {
      const problems = states().flatMap(({ name, problem, lag }) =>
        problem === undefined ? [] : [`${name} lacks ${String(lag)} events: ${problem}`],
      );
      return problems.length === 0 ? { status: 'ok' } : { status: 'ok', note: problems.join('; ') };
    },
  };
}

/** Adds the metrics of the sinks. */
export function createSinksMetrics(
  registry: ReturnType<typeof createMetricsRegistry>,
  states: () => readonly SinkState[],
  clock: Clock,
): void {
  const gauge = (name: string, help: string, read: (state: SinkState) => number): void => {
    createLabelledGauge(registry, { name: `countersign_log_sink_${name}`, help, label: 'sink' }, () =>
      states().map((state) => [state.name, read(state)] as const),
    );
  };
  gauge('lag_events', 'Signed events that a sink lacks.', ({ lag }) => lag);
  gauge('lag_seconds', 'How long a sink has lacked some; 0: it has all.', ({ behindSinceMs }) =>
    behindSinceMs === undefined ? 0 : Math.max(0, clock.now() - behindSinceMs) / 1000,
  );
  gauge('success_timestamp_seconds', 'When a sink took something last; 0: not yet.', ({ succeededAtMs }) =>
    Math.floor((succeededAtMs ?? 0) / 1000),
  );
  gauge('alarm', '1 while a sink has something that the log contradicts.', ({ isAlarm }) => (isAlarm ? 1 : 0));
}
