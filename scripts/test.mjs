// `npm test [suite…] [jest options]`: installs and builds what is missing, then runs jest. Its last line is `N passed, N failed`.
import { spawnSync } from 'node:child_process';
import { existsSync, mkdirSync, readFileSync, rmSync } from 'node:fs';
import { cpus } from 'node:os';
import { delimiter, dirname, join } from 'node:path';
import { ensureAdapters, ensureBuilt, ensureInstalled, recentNode, root } from './prepare.mjs';

/** The suites that run together: each group is one run of jest, and the groups run one after the other. */
const groups = [
  {
    suites: ['unit', 'architecture', 'sim', 'kafka', 'process', 'browser'],
    about: 'libraries and apps from source, seeded simulation, real broker, real processes, real browser',
  },
  {
    suites: ['integrations', 'adapters'],
    config: 'integrations/jest.config.mjs',
    about: 'the integrations from source, and as built in real agent frameworks',
  },
  { suites: ['timing'], about: 'specs that assert durations, one at a time' },
];
/** The suites that run from source. What they import is known without a build. */
const fromSource = ['unit', 'architecture', 'integrations'];
/** A thread of an export is built, so the unit tests need a build. */
const withoutBuild = ['architecture', 'integrations', 'kafka'];
const known = [...groups.flatMap(({ suites }) => suites), 'kills'];

const usage = `npm test [suite…] [-- jest options]

Suites: ${known.join(', ')}. Without a suite: all but kills.
  npm test -- changed [COMMIT]                     the specs from source that import what changed since COMMIT
                                                   (default: the commit before the last one), other suites if named
  npm test -- nightly [suite…]                     more seeds, more kills, whole kits, both clients of the store
  npm test -- unit libs/domain                     the specs of one folder
  npm test -- process test/process/damage.spec.ts  one spec
  npm test -- unit -t "rejects a second response"  tests by name
docs/testing.md says which suite proves what.`;

const given = process.argv.slice(2);
if (given.includes('--help') || given.includes('-h')) {
  console.log(usage);
  process.exit(0);
}
const isNightly = given.includes('nightly');
const changedSince = readChanged();
const chosen = given.filter((arg) => known.includes(arg));
const options = [
  ...given.filter((arg) => !known.includes(arg) && arg !== 'nightly'),
  ...(changedSince ? ['--changedSince', changedSince] : []),
];
const wanted = chosen.length > 0 ? chosen : changedSince ? fromSource : known.filter((suite) => suite !== 'kills');
const totalsFile = join(root, '.cache', `test-totals-${process.pid}.jsonl`);
const cpuFile = join(root, '.cache', `test-cpu-${process.pid}.jsonl`);
/** Many specs start processes, or wait for a server that hangs: they leave half of a core to others. */
const workersPerCore = 2;
/** So many of the slowest specs are named after a run. */
const slowestMax = 25;
/** So many failed specs of a whole run have a second run. More are no accident. */
const secondRunsMax = 3;
/** What a failure of random input says. Another run has other input, so it proves nothing about this one. */
const seeded = /Property failed after|COUNTERSIGN_TEST_SEED|\bseed\b/i;

await ensureInstalled();
if (wanted.some((suite) => !withoutBuild.includes(suite))) await ensureBuilt();
if (wanted.includes('adapters')) await ensureAdapters();
mkdirSync(dirname(totalsFile), { recursive: true });

const withoutKafka = ['kafka', 'process', 'adapters'].some((suite) => wanted.includes(suite))
  ? whyNoKafka()
  : undefined;
const ended = [];
for (const { suites, config = 'jest.config.mjs', about } of groups) {
  const now = suites.filter((suite) => wanted.includes(suite) && !(suite === 'kafka' && withoutKafka));
  if (now.length === 0) continue;
  console.log(`\nSuites: ${now.join(', ')} (${about})`);
  ended.push({ names: now, config, end: jest(['--config', config, '--selectProjects', ...now, ...argumentsOf(now)]) });
}
if (wanted.includes('kills')) ended.push({ names: ['process'], config: 'jest.config.mjs', end: kills() });

const first = readTotals();
const suites = first.flatMap((run) => run.suites);
const second = runAgain();
rmSync(cpuFile, { force: true });
const specs = first.flatMap((run) => run.specs).map((spec) => second.get(spec.file) ?? spec);
const sum = (key) => specs.reduce((total, spec) => total + spec[key], 0);
printTable(suites);
printSlowest(specs);
const faults = faultsOutsideTests();
for (const failure of [...specs.flatMap((spec) => spec.failures), ...faults]) console.log(`FAILED ${failure}`);
for (const test of first.flatMap((run) => run.skipped)) console.log(`Skipped ${test.trim()}`);
if (withoutKafka) console.log(`Skipped ${skippedWithoutKafka()}: ${withoutKafka}`);
console.log(`${sum('passed')} passed, ${sum('failed') + faults.length} failed`);
process.exitCode = sum('failed') + faults.length > 0 ? 1 : 0;

/** Returns what the runs of jest wrote since the last call. */
function readTotals() {
  const lines = existsSync(totalsFile) ? readFileSync(totalsFile, 'utf8').split('\n').filter(Boolean) : [];
  rmSync(totalsFile, { force: true });
  return lines.map((line) => JSON.parse(line));
}

/**
 * Runs the failed specs of a whole run once more, one at a time: thousands of tests with real processes share two
 * cores, and one of them may have had no time. Names them, also those that pass. Returns the specs of the second run by
 * their files.
 */
function runAgain() {
  const failed = first.flatMap((run) => run.specs).filter((spec) => spec.failed > 0);
  const failures = failed.flatMap((spec) => spec.failures);
  if (options.length > 0 || failed.length > secondRunsMax || failures.some((text) => seeded.test(text)))
    return new Map();
  for (const { names, config } of ended) {
    const files = failed.filter(({ suite }) => names.includes(suite)).map(({ file }) => file);
    if (files.length === 0) continue;
    console.log(`\nOnce more, one at a time: ${files.join(', ')}`);
    jest(['--config', config, '--selectProjects', ...names, '--runInBand', '--runTestsByPath', ...files]);
  }
  const again = readTotals().flatMap((run) => run.specs);
  const isUnstable = (text) => again.some(({ file, failed }) => failed === 0 && text.startsWith(`${file}: `));
  for (const failure of failures.filter(isUnstable)) console.log(`UNSTABLE (passed in a second run) ${failure}`);
  return new Map(again.map((spec) => [spec.file, spec]));
}

/**
 * Returns the reasons to fail a run in which no test failed: a killed jest, missed coverage, a skipped test in CI, a
 * suite without tests.
 */
function faultsOutsideTests() {
  if (sum('passed') + sum('failed') === 0 && ended.every(({ end }) => end === 0)) {
    return [`no test matches ${options.join(' ')} in ${wanted.join(', ')}. Suites: ${known.join(', ')}`];
  }
  const skips = first.reduce((total, run) => total + run.skips, 0);
  if (process.env.CI && skips > 0) return [`${skips} tests were skipped; their names are in the output above`];
  return ended.flatMap(({ names, end }) => {
    const ran = suites.filter(({ name }) => names.includes(name));
    if (end !== 0 && !ran.some(({ failed }) => failed > 0)) {
      return [`${names.join(', ')}: no test failed, but jest ended with ${end}; the cause is in its output above`];
    }
    const empty = options.length === 0 ? names.filter((suite) => !ran.some(({ name }) => name === suite)) : [];
    return empty.map((suite) => `${suite}: no test ran`);
  });
}

/** How jest runs these suites. */
function argumentsOf(suites) {
  if (suites.includes('timing')) return ['--runInBand'];
  const isMeasured = suites.includes('unit') || suites.includes('integrations');
  // The thresholds need no pages for each file.
  const measured = ['--coverage', '--coverageReporters=text-summary'];
  const coverage = process.env.CI && options.length === 0 && isMeasured ? measured : [];
  const without = withoutKafka
    ? ['--testPathIgnorePatterns', 'test/process/cluster/(kafka|faults)/|test/adapters/kafka']
    : [];
  const workers = Number(process.env.COUNTERSIGN_TEST_WORKERS) || Math.ceil(workersPerCore * cpus().length);
  return [`--maxWorkers=${workers}`, ...coverage, ...without];
}

/** Takes `changed` and the commit after it out of the arguments; returns the commit, or undefined without `changed`. */
function readChanged() {
  const at = given.indexOf('changed');
  if (at === -1) return undefined;
  const [, commit] = given.splice(at, known.includes(given[at + 1]) || given[at + 1]?.startsWith('-') ? 1 : 2);
  return commit ?? 'HEAD~1';
}

function skippedWithoutKafka() {
  const parts = [];
  if (wanted.includes('kafka')) parts.push('the suite kafka');
  if (wanted.includes('process')) parts.push('the specs in test/process/cluster/kafka and test/process/cluster/faults');
  if (wanted.includes('adapters')) parts.push('the adapters over Kafka');
  return parts.join(', ');
}

/** Why Kafka's specs are skipped, or undefined. In CI they run, and fail without a broker. */
function whyNoKafka() {
  if (process.env.CI) return undefined;
  const find = join(root, 'test', 'kafka-broker', 'find.ts');
  const found = spawnSync(recentNode(), [find], { cwd: root, encoding: 'utf8' });
  return found.status === 0 ? undefined : found.stdout || found.stderr;
}

/** Thousands of kills, as many as COUNTERSIGN_TEST_KILLS says. */
function kills() {
  const args = ['--selectProjects', 'process', '--runInBand', '--testPathPatterns', 'kills'];
  return jest([...args, '--testTimeout', '7200000'], {
    COUNTERSIGN_TEST_KILLS: process.env.COUNTERSIGN_TEST_KILLS || '2000',
  });
}

/** What the nightly form has more of. Numbers that were set by hand stay. */
function nightly() {
  const { SEEDS = '5000', COUNTERSIGN_TEST_KILLS = '2000', COUNTERSIGN_TEST_CLUSTER_KILLS = '60' } = process.env;
  const { COUNTERSIGN_TEST_MCP_ORDERS = '1000' } = process.env;
  return {
    COUNTERSIGN_TEST_NIGHTLY: '1',
    SEEDS,
    COUNTERSIGN_TEST_KILLS,
    COUNTERSIGN_TEST_CLUSTER_KILLS,
    COUNTERSIGN_TEST_MCP_ORDERS,
  };
}

function jest(args, env = {}) {
  const node = recentNode();
  const result = spawnSync(
    node,
    [
      '--experimental-vm-modules',
      '--disable-warning=ExperimentalWarning',
      // Its workers inherit it. Each spec loads its modules again: with the usual 16 MB a tenth of a worker's time is the collector's.
      '--max-semi-space-size=64',
      // For test/node-environment.mjs, which collects what earlier specs have loaded.
      '--expose-gc',
      join(root, 'node_modules', 'jest', 'bin', 'jest.js'),
      ...args,
      ...(process.env.CI ? [] : ['--passWithNoTests']),
      ...options,
    ],
    {
      cwd: root,
      env: {
        ...process.env,
        // A test that starts `node` or `countersign` gets the pinned one as well.
        PATH: [dirname(node), join(root, 'node_modules', '.bin'), process.env.PATH].join(delimiter),
        ...(isNightly ? nightly() : {}),
        COUNTERSIGN_TEST_TOTALS: totalsFile,
        COUNTERSIGN_TEST_CPU: cpuFile,
        // Hundreds of processes are started from the same files.
        NODE_COMPILE_CACHE: join(root, '.cache', 'node'),
        ...env,
      },
      stdio: 'inherit',
    },
  );
  return result.status ?? result.signal ?? 1;
}

/** One line for each suite. Suites of one group run side by side, so their seconds overlap; their processor time does not. */
function printTable(rows) {
  console.log(`\n${line('suite', ['specs', 'passed', 'failed', 'seconds', 'CPU s'])}`);
  for (const { name, specs, passed, failed, seconds, cpuSeconds } of rows) {
    console.log(line(name, [specs, passed, failed, seconds, cpuSeconds]));
  }
}

/** The slowest specs of a longer run, by their processor time and by the clock: what waits, and what computes. */
function printSlowest(specs) {
  if (specs.length <= slowestMax) return;
  console.log(`\nThe ${slowestMax} slowest of ${specs.length} specs\n  CPU s  seconds`);
  const slowest = specs.toSorted((one, other) => costOf(other) - costOf(one)).slice(0, slowestMax);
  for (const { file, seconds, cpuSeconds } of slowest) {
    console.log(`${String(cpuSeconds).padStart(7)} ${String(seconds).padStart(8)}  ${file}`);
  }
}

function costOf({ seconds, cpuSeconds }) {
  return Math.max(seconds, cpuSeconds);
}

function line(name, cells) {
  return `${name.padEnd(14)}${cells.map((cell) => String(cell).padStart(9)).join('')}`;
}
