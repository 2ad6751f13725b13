import { expect, it } from '@jest/globals';
import { lintMetrics } from '../testing.js';
import { countParked, createCommitMetrics, createDeadlineLag, createGauges, createMetricsRegistry } from './metrics.js';

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

it('names what was built, and counts errors that escape as a counter does', async () => {
  const text = await createMetricsRegistry().metrics();
  expect(text).toMatch(/^countersign_build_info\{version="\d+\.\d+\.\d+",commit=""\} 1$/m);
  expect(text).toContain('# TYPE countersign_escaped_errors_total counter\ncountersign_escaped_errors_total 0\n');
});

it('has no name that promtool complains about', async () => {
  const registry = createMetricsRegistry();
  createCommitMetrics(registry)({ events: 1, durationMs: 1 });
  createDeadlineLag(registry)(1);
  countParked(registry)({ group: 'g', code: 'c' });
  const text = await registry.metrics();
  expect(text).toContain('countersign_store_commit_seconds_bucket');
  expect(lintMetrics(text)).toEqual([]);
});

it.each([
  ['# HELP a_things Things.\n# TYPE a_things counter\na_things 1', 'a_things (counter): a counter ends in _total'],
  ['# HELP a_total All.\n# TYPE a_total gauge\na_total 1', 'a_total (gauge): only a counter ends in _total'],
  ['# HELP a_milliseconds Time.\n# TYPE a_milliseconds gauge', 'a_milliseconds (gauge): use the base unit'],
  ['# HELP a_minutes Time.\n# TYPE a_minutes gauge', 'a_minutes (gauge): use the base unit'],
  ['# HELP a_ms Time.\n# TYPE a_ms gauge\na_ms 1', 'a_ms (gauge): write the unit out'],
  [
    '# HELP a_gauge_room B.\n# TYPE a_gauge_room gauge\na_gauge_room 1',
    'a_gauge_room (gauge): a name has no type in it',
  ],
  ['# HELP a_count B.\n# TYPE a_count gauge', 'a_count (gauge): the suffix of a histogram or summary'],
  ['# HELP a_room B.\n# TYPE a_room gauge\na_room{roomId="1"} 1', 'a_room (gauge): names are snake_case'],
  ['# HELP a_room B.\n# TYPE a_room gauge\na_room{le="1"} 1', 'a_room (gauge): only a histogram has the label le'],
  ['# TYPE a_room gauge\na_room 1', 'a_room (gauge): has no help'],
])('the linter of metrics complains about %j', (text, complaint) => {
  expect(lintMetrics(text)).toEqual([complaint]);
});
