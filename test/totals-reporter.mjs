import { appendFileSync } from 'node:fs';

/** Ends a run with `N passed, N failed`, and in CI lets no test be skipped, focused or left as a todo. */
export default class TotalsReporter {
  #error;

  onRunComplete(_contexts, results) {
    const totals = {
      passed: results.numPassedTests,
      // A suite that cannot even be loaded counts as one failure, or it would vanish from the sum.
      failed: results.numFailedTests + results.numRuntimeErrorTestSuites,
      skipped: results.numPendingTests + results.numTodoTests,
    };
    if (process.env.CI && totals.skipped > 0) {
      this.#error = new Error(`${totals.skipped} tests were skipped, left as todo, or hidden by a focused test`);
      const skipped = names(results, ({ status }) => ['pending', 'todo', 'skipped', 'disabled'].includes(status));
      process.stderr.write(`\n${this.#error.message}:\n${skipped.join('\n')}\n`);
    }
    const again = names(results, ({ status, invocations }) => status === 'passed' && invocations > 1);
    if (again.length > 0) process.stderr.write(`\nPassed at the second try only:\n${again.join('\n')}\n`);
    const file = process.env.COUNTERSIGN_TEST_TOTALS;
    if (file) appendFileSync(file, `${JSON.stringify(totals)}\n`);
    else process.stdout.write(`${totals.passed} passed, ${totals.failed} failed\n`);
  }

  getLastError() {
    return this.#error;
  }
}

function names(results, wanted) {
  return results.testResults.flatMap((suite) =>
    suite.testResults.filter(wanted).map((test) => `  ${suite.testFilePath}: ${test.fullName}`),
  );
}
