import type { UnreadableStream } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';
import type { ReadModel } from '@countersign/read-model';
import type { Clock } from '@countersign/runtime';
import {
  createCommitMetrics,
  createDeadlineLag,
  createDurations,
  createGauges,
  createMetricsRegistry,
} from '@countersign/shell';
import type { TellCommit } from '@countersign/shell';
import { Counter } from 'prom-client';
import { observeDecisions } from './decision-metrics.js';
import type { DecisionSources } from './decision-metrics.js';
import type { Registry } from 'prom-client';

/** Metrics that are read at scrape time. */
export interface MetricSources {
  readonly readModel: Pick<ReadModel, 'stats' | 'checkpoint' | 'nextDueAt'> & DecisionSources['readModel'];
  readonly store: Pick<EventStore, 'head'>;
  readonly unreadable: () => readonly UnreadableStream[];
  /** How many pending approvals cannot be satisfied any more. */
  readonly withoutApprovers: () => number;
  readonly clock: Clock;
  readonly longPollWaiters: () => number;
  readonly eventStreams: () => number;
}

/** The metrics of a process that serves the API. Each observation costs less than a microsecond. */
export interface GatewayMetrics {
  readonly registry: Registry;
  /** A command and how it ended: `done`, or the code of the refusal. */
  readonly commandEnded: (command: string, code: string) => void;
  /** A finished request; streams are not included. */
  readonly requestAnswered: (route: string, status: number, durationMs: number) => void;
  readonly refusedAtTheDoor: (code: 'unauthenticated' | 'forbidden') => void;
  /** For the event store: one commit, its number of events, and its duration. */
  readonly storeCommitted: TellCommit;
  /** For the deadlines: how late one was recorded. */
  readonly deadlineFired: (lagMs: number) => void;
  /** Collects these at each scrape. */
  readonly observe: (sources: MetricSources) => void;
}

/** Metrics in their own registry. */
export function createGatewayMetrics(): GatewayMetrics {
  const registry = createMetricsRegistry();
  const registers = [registry];
  const commands = new Counter({
    name: 'countersign_commands_total',
    help: 'Commands by name and outcome: done, or the code of the refusal.',
    labelNames: ['command', 'code'],
    registers,
  });
  const answered = createDurations(registry)(
    'countersign_http_request_seconds',
    'Time to answer a request, by route and status.',
    ['route', 'status'],
  );
  const doors = new Counter({
    name: 'countersign_http_refused_total',
    help: 'Requests refused before they reached a command.',
    labelNames: ['code'],
    registers,
  });
  return {
    registry,
    commandEnded: (command, code) => {
      commands.inc({ command, code });
    },
    requestAnswered: (route, status, durationMs) => {
      answered(durationMs, { route, status });
    },
    refusedAtTheDoor: (code) => {
      doors.inc({ code });
    },
    storeCommitted: createCommitMetrics(registry),
    deadlineFired: createDeadlineLag(registry),
    observe: (sources) => {
      observeSources(registry, sources);
      observeDecisions(registry, sources);
    },
  };
}

function observeSources(registry: Registry, sources: MetricSources): void {
  const { readModel, store, clock, unreadable, withoutApprovers } = sources;
  const gauge = createGauges(registry);
  const ageSeconds = (atMs: number | null): number => (atMs === null ? 0 : Math.max(0, clock.now() - atMs) / 1000);
  gauge('countersign_pending_approvals', 'Approvals that wait for people.', () => readModel.stats().pendingApprovals);
  gauge('countersign_oldest_pending_approval_seconds', 'Age of the oldest pending approval.', () => {
    const { oldestPendingAt } = readModel.stats();
    return ageSeconds(oldestPendingAt === null ? null : Date.parse(oldestPendingAt));
  });
  gauge(
    'countersign_unknown_outcomes',
    'Calls whose outcome is unknown and that wait for a person to reconcile them.',
    () => readModel.stats().unknownOutcomes,
  );
  gauge(
    'countersign_unreadable_streams',
    'Streams that are set aside, because an event in them cannot be read.',
    () => unreadable().length,
  );
  gauge(
    'countersign_approvals_without_approvers',
    'Pending approvals for which too few approvers are left.',
    withoutApprovers,
  );
  gauge('countersign_tool_calls', 'Tool calls known to the read model.', () => readModel.stats().calls);
  gauge('countersign_projection_lag_positions', 'How far the read model is behind the log.', async () =>
    Math.max(0, (await store.head()) - readModel.checkpoint()),
  );
  gauge('countersign_deadline_overdue_seconds', 'How long the earliest deadline is overdue.', () =>
    ageSeconds(readModel.nextDueAt()),
  );
  gauge('countersign_event_streams', 'Open event streams.', sources.eventStreams);
  gauge('countersign_long_polls', 'Requests that wait for a call to change.', sources.longPollWaiters);
}
