import type { EmbeddedEventStore } from '@countersign/event-store';
import { createGauges } from '@countersign/shell';
import type { GatewayMetrics } from '@countersign/gateway';

/** Adds what the continuous verification of the log found. */
export function observeVerified(registry: GatewayMetrics['registry'], verified: EmbeddedEventStore['verified']): void {
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
}
