import { createGauges, createMetricsRegistry } from '@countersign/shell';
import type { Notary } from './notary.js';

/** The figures of a notary. */
export interface NotaryMetrics {
  /** Collects these at each scrape. */
  readonly observe: (notary: Pick<Notary, 'figures' | 'isActive'>, head: () => Promise<number>) => void;
}

/** Metrics in the given registry, or in their own. */
export function createNotaryMetrics(
  registry: ReturnType<typeof createMetricsRegistry> = createMetricsRegistry(),
): NotaryMetrics {
  const gauge = createGauges(registry);
  return {
    observe: ({ figures, isActive }, head) => {
      gauge('countersign_notary_active', '1 while this process signs checkpoints, 0 while it stands by.', () =>
        isActive() ? 1 : 0,
      );
      gauge('countersign_log_rewound', '1 when the log contradicts what was signed.', () =>
        figures().isRewound ? 1 : 0,
      );
      gauge('countersign_log_tree_events', 'Events in the trees of all tenants.', () => figures().size);
      gauge('countersign_log_unsigned_events', 'Events that no checkpoint covers.', () => figures().unsigned);
      gauge('countersign_log_tree_position', 'Position of the last event in the trees.', () => figures().position);
      // An unreachable store must not break the other metrics.
      gauge('countersign_log_head_position', 'Position of the last event recorded.', () =>
        head().catch(() => Number.NaN),
      );
      gauge(
        'countersign_log_checkpoint_timestamp_seconds',
        'When this process signed a checkpoint last; 0: not yet.',
        () => Math.floor((figures().signedAtMs ?? 0) / 1000),
      );
    },
  };
}
