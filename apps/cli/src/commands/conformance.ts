import type { AgentUnderTest, Capabilities, KitServer, Scenario } from '@countersign/conformance';
import { fileURLToPath } from 'node:url';
import type { ExitCode } from '../exit-codes.js';
import { usageError } from '../cli-error.js';
import { exitCodes } from '../exit-codes.js';
import type { Output } from '../invocation.js';

/** The capabilities of the agent. `--no-…` declares a missing one. */
export interface ConformanceOptions extends Capabilities {
  /** A part of the names of the scenarios to try. */
  readonly only?: string;
}

/** `countersign conformance -- <command>`: tries an agent in every scenario that it can do. */
export async function conformance(
  output: Output,
  [command = '', ...args]: readonly string[],
  { only = '', ...capabilities }: ConformanceOptions,
): Promise<ExitCode> {
  const { scenarios, scenariosFor, startKitServer } = await import('@countersign/conformance');
  const agent = { command, args, capabilities };
  const possible = scenariosFor(agent).filter(({ name }) => name.includes(only));
  if (possible.length === 0) {
    throw usageError(`No scenario that the agent can do has "${only}" in its name.`, 'Without --only all are tried.');
  }
  output.note('Starting a Countersign in a temporary folder …');
  const server = await startKitServer(fileURLToPath(new URL('../bin/countersign.js', import.meta.url)));
  let failed = 0;
  try {
    for (const scenario of possible) {
      const problem = await problemIn(scenario, agent, server);
      // Ctrl-C ends the agent, too: that is no verdict.
      if (output.terminal.interrupted.aborted) return exitCodes.interrupted;
      if (problem !== null) failed += 1;
      printScenario(output, scenario.name, problem);
    }
  } finally {
    await server.stop();
  }
  const passed = possible.length - failed;
  const leftOut = scenarios.length - possible.length;
  output.printJson({ passed, failed, leftOut });
  output.print({ text: `${String(passed)} passed, ${String(failed)} failed, ${String(leftOut)} left out` });
  return failed === 0 ? exitCodes.ok : exitCodes.refused;
}

async function problemIn(scenario: Scenario, agent: AgentUnderTest, server: KitServer): Promise<string | null> {
  const { tryScenario } = await import('@countersign/conformance');
  try {
    await tryScenario(scenario, agent, server);
    return null;
  } catch (error) {
    return error instanceof Error ? error.message : String(error);
  }
}

function printScenario(output: Output, scenario: string, problem: string | null): void {
  output.printJson({ scenario, passed: problem === null, problem });
  if (problem === null) output.print({ text: `passed  ${scenario}` });
  else {
    output.print({ text: `FAILED  ${scenario}`, tone: 'red' });
    output.print(...problem.split('\n').map((line) => ({ text: `        ${line}` })));
  }
}
