import { execFile } from 'node:child_process';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { temporaryFolder } from '../../../../test/process/harness/cleanup.js';

const adapters = join(import.meta.dirname, '..', '..', '..', 'adapters', 'node_modules');
const suite = join(adapters, '@modelcontextprotocol', 'conformance', 'dist', 'index.js');
const patience = join(import.meta.dirname, 'patient-timers.mjs');

interface Check {
  readonly id: string;
  readonly status: string;
  readonly errorMessage?: string;
}

/** The checks of each scenario, by its name. */
export type Outcome = ReadonlyMap<string, readonly Check[]>;

/** Runs all scenarios that the official suite has for a server of a version of MCP. */
export function runSuite(version: string, url: string): Promise<Outcome> {
  return run(['--suite', 'all', '--spec-version', version], url);
}

/** Runs the scenarios of the extension for tasks. They belong to no version, and the suite has them with others. */
export async function runTaskScenarios(url: string): Promise<Outcome> {
  const outcome = await run(['--suite', 'pending'], url);
  return new Map([...outcome].filter(([scenario]) => scenario.startsWith('tasks-')));
}

async function run(selection: readonly string[], url: string): Promise<Outcome> {
  const folder = temporaryFolder();
  const args = ['server', '--url', url, '--timeout', '150000', ...selection, '-o', folder];
  // A failed scenario makes it exit with 1; its files say which.
  await promisify(execFile)(process.execPath, ['--import', patience, suite, ...args], {
    maxBuffer: 64 * 1024 * 1024,
  }).catch(() => undefined);
  const named = readdirSync(folder).map((name) => {
    const scenario = /^server-(?<name>.*)-\d{4}-\d{2}-\d{2}T/.exec(name)?.groups?.['name'] ?? name;
    return [scenario, JSON.parse(readFileSync(join(folder, name, 'checks.json'), 'utf8')) as Check[]] as const;
  });
  return new Map(named);
}

/** Returns the checks that failed, with the beginning of their reasons. */
export function failuresOf(outcome: Outcome): readonly string[] {
  return [...outcome].flatMap(([scenario, checks]) =>
    checks
      .filter(({ status }) => status === 'FAILURE')
      .map(({ id, errorMessage }) => `${scenario}: ${id}: ${errorMessage ?? ''}`.slice(0, 250)),
  );
}

/** Returns the scenarios with a check that passed at the server and did not pass behind the gate, in the order of the alphabet. */
export function lostBehindTheGate(direct: Outcome, gated: Outcome): readonly string[] {
  const passed = (outcome: Outcome, scenario: string): readonly string[] =>
    (outcome.get(scenario) ?? []).filter(({ status }) => status === 'SUCCESS').map(({ id }) => id);
  return [...direct.keys()]
    .filter((scenario) => {
      const behind = passed(gated, scenario);
      return passed(direct, scenario).some((id) => !behind.includes(id));
    })
    .sort();
}
