import { Registry, collectDefaultMetrics } from 'prom-client';

/** A registry of its own with the process's figures (memory, CPU, event loop): nothing global, so two can live side by side. */
export function createMetricsRegistry(): Registry {
  const register = new Registry();
  collectDefaultMetrics({ register });
  return register;
}
