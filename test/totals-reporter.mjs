import { appendFileSync } from 'node:fs';

/** Ends a run with `N passed, N failed`, and in CI lets no test be skipped, focused or left as a todo. */
export default class TotalsReporter {
  #error;

  onRunComplete(_contexts, results) {
    const skips = results.numPendingTests + results.numTodoTests;
    if (process.env.CI && skips > 0) {
      this.#error = new Error(`${skips} tests were skipped, left as todo, or hidden by a focused test`);
      const skipped = names(results, ({ status }) => ['pending', 'todo', 'skipped', 'disabled'].includes(status));
      process.stderr.write(`\n${this.#error.message}:\n${skipped.join('\n')}\n`);
    }
    const again = names(results, ({ status, invocations }) => status === 'passed' && invocations > 1);
    if (again.length > 0) process.stderr.write(`\nPassed at the second try only:\n${again.join('\n')}\n`);
    const file = process.env.COUNTERSIGN_TEST_TOTALS;
    if (file)
      appendFileSync(file, `${JSON.stringify({ specs: specsOf(results), refused: this.#error !== undefined })}\n`);
    else
      process.stdout.write(
        `${results.numPassedTests} passed, ${results.numFailedTests + results.numRuntimeErrorTestSuites} failed\n`,
      );
  }

  getLastError() {
    return this.#error;
  }
}

/** A spec that cannot even be loaded counts as one failure, or it would vanish from the sum. */
function specsOf({ testResults }) {
  return testResults.map(({ testFilePath: file, numPassingTests, numFailingTests, testExecError }) => ({
    file,
    passed: numPassingTests,
    failed: numFailingTests + (testExecError && numFailingTests === 0 ? 1 : 0),
  }));
}

function names(results, wanted) {
  return results.testResults.flatMap((suite) =>
    suite.testResults.filter(wanted).map((test) => `  ${suite.testFilePath}: ${test.fullName}`),
  );
}
