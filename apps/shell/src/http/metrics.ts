import { Gauge, Histogram, Registry, collectDefaultMetrics } from 'prom-client';

/** A registry of its own with the process's figures (memory, CPU, event loop): nothing global, so two can live side by side. */
export function createMetricsRegistry(): Registry {
  const register = new Registry();
  // The default would wake an idle process a hundred times a second to look at its event loop.
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: 1000 });
  return register;
}

/** For how long something took: half a millisecond to a minute. */
export const secondsBuckets = [0.0005, 0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1, 2.5, 5, 10, 60];

/** For a process that fires deadlines: tells how late one was recorded. */
export function createDeadlineLag(registry: Registry): (lagMs: number) => void {
  const lag = new Histogram({
    name: 'countersign_deadline_lag_seconds',
    help: 'How long after a deadline it was recorded.',
    buckets: secondsBuckets,
    registers: [registry],
  });
  return (lagMs) => {
    lag.observe(lagMs / 1000);
  };
}

/** Adds figures that are read when somebody scrapes. */
export function createGauges(
  registry: Registry,
): (name: string, help: string, read: () => number | Promise<number>) => void {
  return (name, help, read) => {
    new Gauge({
      name,
      help,
      registers: [registry],
      async collect() {
        this.set(await read());
      },
    });
  };
}
