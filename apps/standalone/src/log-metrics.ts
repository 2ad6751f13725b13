import type { EmbeddedEventStore } from '@countersign/event-store';
import { createGauges } from '@countersign/shell';
import type { GatewayMetrics } from '@countersign/gateway';
import type { LogComparison } from '@countersign/read-model';

/** Adds what the continuous verification of the log and of the read model found. */
export function observeVerified(
  registry: GatewayMetrics['registry'],
  verified: EmbeddedEventStore['verified'],
  compared: LogComparison['compared'],
): void {
  const gauge = createGauges(registry);
  gauge(
    'countersign_log_verified_position',
    'Every event of the log up to this position was proven since the start.',
    () => verified().position,
  );
  gauge(
    'countersign_log_verified_timestamp_seconds',
    'When events of the log were proven last, in seconds since 1970; 0: not since the start.',
    () => (verified().atMs ?? 0) / 1000,
  );
  gauge('countersign_log_damage', '1 if the log is damaged: nothing more is written.', () =>
    verified().isDamaged ? 1 : 0,
  );
  gauge(
    'countersign_read_model_differences',
    'Calls of the read model that were not what the log says, since the start.',
    () => compared().differences,
  );
  gauge(
    'countersign_read_model_compared_timestamp_seconds',
    'When the whole read model was compared with the log last, in seconds since 1970; 0: not since the start.',
    () => (compared().atMs ?? 0) / 1000,
  );
}
