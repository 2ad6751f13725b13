import type { ReadModel } from '@countersign/read-model';
import type { Clock } from '@countersign/runtime';
import { createDeadlineLag, createGauges } from '@countersign/shell';
import type { Registry } from 'prom-client';

/** Metrics that are read at scrape time. */
export interface ProjectorSources {
  readonly readModel: Pick<ReadModel, 'stats' | 'checkpoint' | 'nextDueAt'>;
  readonly clock: Clock;
}

/** The figures of a process that projects and fires deadlines, and serves no API. */
export interface ProjectorMetrics {
  /** For the deadlines: how late one was recorded. */
  readonly deadlineFired: (lagMs: number) => void;
  /** Whether the policy of this process is another one than the one in force. */
  readonly policyDiffers: (differs: 0 | 1) => void;
}

/** Metrics in the registry of the process. */
export function createProjectorMetrics(registry: Registry, { readModel, clock }: ProjectorSources): ProjectorMetrics {
  const gauge = createGauges(registry);
  gauge('countersign_pending_approvals', 'Approvals that wait for people.', () => readModel.stats().pendingApprovals);
  gauge('countersign_projection_position', 'The position of the log that the read model has reached.', () =>
    readModel.checkpoint(),
  );
  gauge('countersign_deadline_overdue_seconds', 'How long the earliest deadline is overdue.', () => {
    const dueAt = readModel.nextDueAt();
    return dueAt === null ? 0 : Math.max(0, clock.now() - dueAt) / 1000;
  });
  let differs: 0 | 1 = 0;
  gauge('countersign_policy_differs', '1: the policy of this process is not the one in force.', () => differs);
  return {
    deadlineFired: createDeadlineLag(registry),
    policyDiffers: (now) => {
      differs = now;
    },
  };
}
