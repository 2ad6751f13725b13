import { Registry, collectDefaultMetrics } from 'prom-client';

/** A registry of its own with the process's figures (memory, CPU, event loop): nothing global, so two can live side by side. */
export function createMetricsRegistry(): Registry {
  const register = new Registry();
  // The default would wake an idle process a hundred times a second to look at its event loop.
  collectDefaultMetrics({ register, eventLoopMonitoringPrecision: 1000 });
  return register;
}
