import { expect, it } from '@jest/globals';
import { createGauges, createMetricsRegistry } from './metrics.js';

it('observes the process once for all registries of the process', async () => {
  const [first, second] = [createMetricsRegistry(), createMetricsRegistry()];
  const name = 'nodejs_gc_duration_seconds';
  expect(first.getSingleMetric(name)).toBeDefined();
  expect(second.getSingleMetric(name)).toBe(first.getSingleMetric(name));
  for (const registry of [first, second]) expect(await registry.metrics()).toContain('process_cpu_user_seconds_total');
});

it('leaves out a figure that cannot be read, and serves the others', async () => {
  const registry = createMetricsRegistry();
  const gauge = createGauges(registry);
  gauge('countersign_whole', 'Can be read.', () => 1);
  gauge('countersign_broken', 'Cannot be read.', () => Promise.reject(new Error('no answer')));
  expect(await registry.metrics()).toContain('countersign_whole 1\n');
});
