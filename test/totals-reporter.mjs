import { appendFileSync } from 'node:fs';
import { relative } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { recordedCpu } from './spec-cpu.mjs';

const progressEveryMs = 20_000;
const notRun = ['pending', 'todo', 'skipped', 'disabled'];
const reasonCharactersMax = 400;

/** Prints how far the run is, hands its totals to `npm test`, and in CI fails the run when a test was skipped. */
export default class TotalsReporter {
  #error;
  #startedAt = Date.now();
  #isWhole;
  /** By path, because a spec that could not run has no name of its suite in its result. */
  #suiteOf = new Map();
  #nextProgressAt = Date.now() + progressEveryMs;

  constructor({ testNamePattern }) {
    this.#isWhole = !testNamePattern;
  }

  onTestFileResult(test, _result, { numTotalTestSuites: all, numFailedTests: failed, testResults }) {
    this.#suiteOf.set(test.path, test.context.config.displayName?.name ?? 'tests');
    if (process.stderr.isTTY || Date.now() < this.#nextProgressAt) return;
    this.#nextProgressAt = Date.now() + progressEveryMs;
    const seconds = Math.round((Date.now() - this.#startedAt) / 1000);
    process.stderr.write(`-- ${testResults.length} of ${all} specs after ${seconds} s, ${failed} tests failed\n`);
  }

  onRunComplete(_contexts, results) {
    const skips = results.numPendingTests + results.numTodoTests;
    if (process.env.CI && skips > 0) {
      this.#error = new Error(`${skips} tests were skipped, left as todo, or hidden by a focused test`);
      process.stderr.write(`\n${this.#error.message}:\n${namesOfTestsNotRun(results).join('\n')}\n`);
    }
    const cpu = recordedCpu();
    const suites = suitesOf(results, this.#suiteOf, cpu);
    const specs = results.testResults.map((result) => specOf(result, this.#suiteOf, cpu));
    const file = process.env.COUNTERSIGN_TEST_TOTALS;
    // Tests that were not chosen by their names are not worth a word.
    const skipped = this.#isWhole ? namesOfTestsNotRun(results) : [];
    if (file) appendFileSync(file, `${JSON.stringify({ suites, specs, skips, skipped })}\n`);
    else
      for (const { name, passed, failed } of suites)
        process.stdout.write(`${name}: ${passed} passed, ${failed} failed\n`);
  }

  getLastError() {
    return this.#error;
  }
}

/** The totals of each suite. Its seconds are those from the start of its first spec to the end of its last one. */
function suitesOf({ testResults }, suiteOf, cpu) {
  const byName = Map.groupBy(testResults, ({ testFilePath }) => suiteOf.get(testFilePath) ?? 'tests');
  return [...byName].map(([name, specs]) => ({
    name,
    specs: specs.length,
    passed: specs.reduce((sum, spec) => sum + spec.numPassingTests, 0),
    failed: specs.reduce((sum, spec) => sum + failuresOf(spec), 0),
    seconds: secondsOf(specs.map(({ perfStats }) => perfStats)),
    cpuSeconds: Math.round(specs.reduce((sum, { testFilePath }) => sum + (cpu.get(testFilePath) ?? 0), 0) / 1000),
  }));
}

/** One spec: its tests, what failed and why, and its seconds, by the clock and of the processor. */
function specOf(result, suiteOf, cpu) {
  const { testFilePath, perfStats } = result;
  return {
    file: relative(process.cwd(), testFilePath),
    suite: suiteOf.get(testFilePath) ?? 'tests',
    passed: result.numPassingTests,
    failed: failuresOf(result),
    failures: failuresIn(result),
    seconds: Math.round((perfStats.end - perfStats.start) / 1000),
    cpuSeconds: Math.round((cpu.get(testFilePath) ?? 0) / 1000),
  };
}

/** A spec that cannot be loaded counts as one failure. Otherwise it would vanish from the sum. */
function failuresOf({ numFailingTests, testExecError }) {
  return numFailingTests + (testExecError && numFailingTests === 0 ? 1 : 0);
}

/** Each failed test in one line, with the beginning of its reason: the whole one can be thousands of log lines. */
function failuresIn({ testFilePath, testResults: tests, testExecError }) {
  const file = relative(process.cwd(), testFilePath);
  const failed = tests.filter(({ status }) => status === 'failed');
  if (failed.length === 0 && testExecError) return [`${file}: ${beginningOf(testExecError.message)}`];
  return failed.map(({ fullName, failureMessages }) => `${file}: ${fullName}: ${beginningOf(failureMessages[0])}`);
}

function beginningOf(reason = '') {
  return stripVTControlCharacters(reason).replaceAll(/\s+/g, ' ').slice(0, reasonCharactersMax);
}

function secondsOf(stats) {
  const ran = stats.filter(({ end }) => end > 0);
  if (ran.length === 0) return 0;
  return Math.round((Math.max(...ran.map(({ end }) => end)) - Math.min(...ran.map(({ start }) => start))) / 1000);
}

function namesOfTestsNotRun({ testResults }) {
  return testResults.flatMap(({ testFilePath, testResults: tests }) =>
    tests
      .filter(({ status }) => notRun.includes(status))
      .map(({ fullName }) => `  ${relative(process.cwd(), testFilePath)}: ${fullName}`),
  );
}
