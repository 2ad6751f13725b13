import type { ReadModel } from '@countersign/read-model';
import type { Clock } from '@countersign/runtime';
import { createGauges } from '@countersign/shell';
import { Histogram } from 'prom-client';
import type { Registry } from 'prom-client';

/** What is asked only when somebody scrapes. */
export interface ProjectorSources {
  readonly readModel: Pick<ReadModel, 'stats' | 'checkpoint' | 'nextDueAt'>;
  readonly clock: Clock;
}

/** The figures of a process that projects and fires deadlines, and serves no API. */
export interface ProjectorMetrics {
  /** For the deadlines: one was recorded this late. */
  readonly deadlineFired: (lagMs: number) => void;
}

/** Metrics in the registry of the process. */
export function createProjectorMetrics(registry: Registry, { readModel, clock }: ProjectorSources): ProjectorMetrics {
  const lag = new Histogram({
    name: 'countersign_deadline_lag_seconds',
    help: 'How long after a deadline it was recorded.',
    buckets: [0.01, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60],
    registers: [registry],
  });
  const gauge = createGauges(registry);
  gauge('countersign_pending_approvals', 'Approvals that wait for people.', () => readModel.stats().pendingApprovals);
  gauge('countersign_projection_position', 'The position of the log that the views show.', () =>
    readModel.checkpoint(),
  );
  gauge('countersign_deadline_overdue_seconds', 'How long the earliest deadline is overdue.', () => {
    const dueAt = readModel.nextDueAt();
    return dueAt === null ? 0 : Math.max(0, clock.now() - dueAt) / 1000;
  });
  return {
    deadlineFired: (lagMs) => {
      lag.observe(lagMs / 1000);
    },
  };
}
