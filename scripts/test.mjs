// `npm test [suite…] [jest options]`: installs and builds what is missing, runs jest, ends with `N passed, N failed`.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { delimiter, dirname, join, relative } from 'node:path';
import { ensureBuilt, ensureInstalled, recentNode, root } from './prepare.mjs';

const known = ['unit', 'architecture', 'sim', 'kafka', 'process', 'browser', 'kills'];
const given = process.argv.slice(2);
const suites = given.filter((arg) => known.includes(arg));
const options = given.filter((arg) => !known.includes(arg));
const wanted = suites.length > 0 ? suites : ['unit', 'architecture', 'sim', 'kafka', 'process', 'browser'];
const totalsFile = join(root, '.cache', `test-totals-${process.pid}.jsonl`);

await ensureInstalled();
if (['sim', 'process', 'browser', 'kills'].some((suite) => wanted.includes(suite))) await ensureBuilt();
mkdirSync(dirname(totalsFile), { recursive: true });

/** More specs than these do not fail by chance. */
const againMax = 4;

const inSource = wanted.filter((suite) => suite === 'unit' || suite === 'architecture');
const statuses = [];
if (inSource.length > 0) {
  const coverage = process.env.CI && inSource.includes('unit') && options.length === 0 ? ['--coverage'] : [];
  // Left to itself, jest leaves one core idle.
  statuses.push(jest(['--selectProjects', ...inSource, ...coverage, '--maxWorkers=100%']));
}
if (wanted.includes('sim')) statuses.push(jest(['--selectProjects', 'sim']));
const kafkaIsThere = (wanted.includes('kafka') || wanted.includes('process')) && hasKafka();
if (wanted.includes('kafka') && kafkaIsThere) statuses.push(outside('kafka'));
if (wanted.includes('process')) {
  const without = kafkaIsThere ? [] : ['--testPathIgnorePatterns', 'test/process/cluster/(kafka|faults)/'];
  statuses.push(outside('process', without));
}
if (wanted.includes('browser')) statuses.push(outside('browser'));
if (wanted.includes('kills')) {
  const kills = process.env.COUNTERSIGN_TEST_KILLS || '2000';
  const longRun = [
    '--selectProjects',
    'process',
    '--runInBand',
    '--testPathPatterns',
    'kill',
    '--testTimeout',
    '7200000',
  ];
  statuses.push(jest(longRun, { COUNTERSIGN_TEST_KILLS: kills }));
}

const specs = [...lastResults().values()];
const again = specs.filter(({ nth, failed }) => nth > 1 && failed === 0);
if (again.length > 0) {
  console.log(`Passed at the second try only:\n${again.map(({ file }) => `  ${relative(root, file)}`).join('\n')}`);
}
const sum = (key) => specs.reduce((total, spec) => total + spec[key], 0);
rmSync(totalsFile, { force: true });
console.log(`${sum('passed')} passed, ${sum('failed')} failed`);
process.exitCode = statuses.some((status) => status !== 0) || sum('failed') > 0 ? 1 : 0;

/**
 * Real processes on real ports and files: one spec at a time, or they would measure each other. They share two cores with
 * whatever else runs: a spec that fails is run once more from its start, with nothing left of the first try, and is named
 * at the end. A client that still retries in the background when all specs have ended keeps nobody waiting.
 */
function outside(suite, given = []) {
  const args = ['--selectProjects', suite, '--runInBand', '--forceExit'];
  const status = jest([...args, ...given]);
  const { specs = [], refused = true } = runs().at(-1) ?? {};
  const failed = specs.filter((spec) => spec.failed > 0).map(({ file }) => file);
  if (status === 0 || options.length > 0 || refused || failed.length === 0 || failed.length > againMax) return status;
  console.log(`Once more, from the start:\n${failed.map((file) => `  ${relative(root, file)}`).join('\n')}`);
  return jest([...args, '--runTestsByPath', ...failed]);
}

/** Without a broker the suite is left out in so many words; in CI it runs, and fails. */
function hasKafka() {
  if (process.env.CI) return true;
  const find = join(root, 'test', 'kafka-broker', 'find.ts');
  const found = spawnSync(recentNode(), [find], { cwd: root, encoding: 'utf8' });
  if (found.status === 0) return true;
  console.error(`What needs Kafka was not run: ${found.stdout || found.stderr}`);
  return false;
}

function jest(args, env = {}) {
  const node = recentNode();
  const result = spawnSync(
    node,
    [
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      join(root, 'node_modules', 'jest', 'bin', 'jest.js'),
      ...args,
      ...(process.env.CI ? [] : ['--passWithNoTests']),
      ...options,
    ],
    {
      cwd: root,
      env: {
        ...process.env,
        // What a test starts as `node` or `countersign` is the pinned one as well.
        PATH: [dirname(node), join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter),
        COUNTERSIGN_TEST_TOTALS: totalsFile,
        ...env,
      },
      stdio: 'inherit',
    },
  );
  return result.status === null ? 1 : result.status;
}

/** What jest's runs came to so far; none where it did not get as far as running a test. */
function runs() {
  if (!existsSync(totalsFile)) return [];
  const lines = readFileSync(totalsFile, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}

/** The last result of each spec, with how many times it ran. */
function lastResults() {
  const results = new Map();
  for (const spec of runs().flatMap(({ specs }) => specs)) {
    results.set(spec.file, { ...spec, nth: (results.get(spec.file)?.nth ?? 0) + 1 });
  }
  return results;
}
