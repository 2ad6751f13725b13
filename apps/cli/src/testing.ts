export { createCliRun } from './testing/cli-run.js';
export type { CliResult, CliRun } from './testing/cli-run.js';
