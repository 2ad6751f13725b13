import { expect, it } from '@jest/globals';
import { createMetricsRegistry } from './metrics.js';

it('observes the process once for all registries of the process', async () => {
  const [first, second] = [createMetricsRegistry(), createMetricsRegistry()];
  const name = 'nodejs_gc_duration_seconds';
  expect(first.getSingleMetric(name)).toBeDefined();
  expect(second.getSingleMetric(name)).toBe(first.getSingleMetric(name));
  for (const registry of [first, second]) expect(await registry.metrics()).toContain('process_cpu_user_seconds_total');
});
