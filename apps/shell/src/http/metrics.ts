import { Counter, Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';
import { commit } from '../process/commit.js';
import { escapedErrors } from '../process/edge-guard.js';
import { version } from '../process/version.js';

let ofProcess: Registry | undefined;

/** Returns the metrics of the process, which exist once: their observers never stop, and keep what is in their registry. */
function processMetrics(): Registry {
  if (ofProcess !== undefined) return ofProcess;
  ofProcess = new Registry();
  // The default would wake an idle process a hundred times a second to look at its event loop.
  collectDefaultMetrics({ register: ofProcess, eventLoopMonitoringPrecision: 1000 });
  // Gauges with the suffix of counters, which `promtool` refuses. The same names without it have these figures by type.
  for (const what of ['handles', 'requests', 'resources']) ofProcess.removeSingleMetric(`nodejs_active_${what}_total`);
  return ofProcess;
}

/** A registry with the process metrics (memory, CPU, event loop). Two can exist in one process. */
export function createMetricsRegistry(): Registry {
  const register = new Registry();
  for (const { name } of processMetrics().getMetricsAsArray()) {
    const metric = processMetrics().getSingleMetric(name);
    if (metric !== undefined) register.registerMetric(metric);
  }
  const escaped: Counter = new Counter({
    name: 'countersign_escaped_errors_total',
    help: 'Uncaught errors of libraries; the first one ends the process.',
    registers: [register],
    collect: () => {
      escaped.reset();
      escaped.inc(escapedErrors());
    },
  });
  new Gauge({
    name: 'countersign_build_info',
    help: '1. The labels say what runs; an empty commit is not known.',
    labelNames: ['version', 'commit'],
    registers: [register],
  }).set({ version, commit: commit ?? '' }, 1);
  return register;
}

/** Half a millisecond to a minute. */
const secondsBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

/** Observes a duration. */
type TellDuration<T extends string> = (durationMs: number, labels?: Readonly<Record<T, string | number>>) => void;

/** Adds figures of how long something took, in seconds; all have the same buckets, so that they can be compared. */
export function createDurations(
  registry: Registry,
): <T extends string = never>(name: string, help: string, labelNames?: T[]) => TellDuration<T> {
  return <T extends string>(name: string, help: string, labelNames: T[] = []): TellDuration<T> => {
    const seconds = new Histogram({ name, help, labelNames, buckets: secondsBuckets, registers: [registry] });
    return (durationMs, labels = {} as Record<T, string | number>) => {
      seconds.observe(labels, durationMs / 1000);
    };
  };
}

/** Observes one commit of the event store: its number of events, and its duration. */
export type TellCommit = (commit: { readonly events: number; readonly durationMs: number }) => void;

/** For a process that records events. */
export function createCommitMetrics(registry: Registry): TellCommit {
  const registers = [registry];
  const commits = new Counter({
    name: 'countersign_store_commits_total',
    help: 'Commits of the event store.',
    registers,
  });
  const events = new Counter({ name: 'countersign_store_events_total', help: 'Events recorded.', registers });
  const size = new Histogram({
    name: 'countersign_store_commit_events',
    help: 'Events in one commit.',
    buckets: [1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024],
    registers,
  });
  const committed = createDurations(registry)(
    'countersign_store_commit_seconds',
    'Time of one commit, flush included.',
  );
  return (commit) => {
    commits.inc();
    events.inc(commit.events);
    size.observe(commit.events);
    committed(commit.durationMs);
  };
}

/** For a process that fires deadlines: observes how late one was recorded. */
export function createDeadlineLag(registry: Registry): TellDuration<never> {
  return createDurations(registry)('countersign_deadline_lag_seconds', 'How long after a deadline it was recorded.');
}

/** Adds metrics that are read at scrape time. */
export function createGauges(
  registry: Registry,
): (name: string, help: string, read: () => number | Promise<number>) => void {
  return (name, help, read) => {
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        try {
          this.set(await read());
        } catch {
          // One figure that cannot be read now does not take the others with it.
          this.reset();
        }
      },
    });
  };
}

/** Adds a metric with one label. Its values are read at scrape time. */
export function createLabelledGauge(
  registry: Registry,
  { name, help, label }: { readonly name: string; readonly help: string; readonly label: string },
  read: () => readonly (readonly [labelled: string, value: number])[],
): void {
  new Gauge({
    ...{ name, help, labelNames: [label], registers: [registry] },
    collect() {
      for (const [labelled, value] of read()) this.set({ [label]: labelled }, value);
    },
  });
}

/** Adds a counter of parked messages; each call counts one. */
export function countParked(registry: Registry): (parked: { readonly group: string; readonly code: string }) => void {
  const parked = new Counter({
    name: 'countersign_messages_parked_total',
    help: 'Messages that were parked in the dead letters, by consumer group and code.',
    labelNames: ['group', 'code'],
    registers: [registry],
  });
  return ({ group, code }) => parked.inc({ group, code });
}
