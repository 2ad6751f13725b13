import { createGauges } from '@countersign/shell';
import type { createMetricsRegistry, ReadinessCheck } from '@countersign/shell';
import type { TimestampState } from './timestamps.js';

/** Says why a checkpoint got no time stamp. The process is ready all the same. */
export function createTimestampsCheck(state: () => TimestampState): ReadinessCheck {
  return {
    name: 'log-timestamps',
    check: () => {
      const { problem } = state();
      return problem === undefined ? { status: 'ok' } : { status: 'ok', note: `no time stamp: ${problem}` };
    },
  };
}

/** Adds the metrics of the time stamps. */
export function createTimestampsMetrics(
  registry: ReturnType<typeof createMetricsRegistry>,
  state: () => TimestampState,
): void {
  const gauge = (name: string, help: string, read: (now: TimestampState) => number | undefined): void =>
    createGauges(registry)(`countersign_log_timestamp_${name}`, help, () => Math.floor((read(state()) ?? 0) / 1000));
  gauge(
    'success_timestamp_seconds',
    'When a checkpoint got a time stamp last; 0: not yet.',
    (now) => now.succeededAtMs,
  );
  gauge('failure_timestamp_seconds', 'When a checkpoint got no time stamp last; 0: not yet.', (now) => now.failedAtMs);
}
