import type { Command } from 'commander';
import type { Runner } from '../runner.js';
import type { ConformanceOptions } from './conformance.js';

/** `countersign conformance`: tries an agent framework's adapter. */
export function addConformance(program: Command, runner: Runner): void {
  program
    .command('conformance')
    .description('try an agent in approvals, crashes and duplicates; exits with 5 when it fails in one')
    .argument('<command...>', 'the command that starts the agent, which speaks the protocol of docs/conformance.md')
    .option('--no-pauses', 'the agent waits in its process until people have decided')
    .option('--no-streaming', 'its framework does not stream')
    .option('--no-nested', 'its framework has no nested agents')
    .option('--no-partial', 'it waits until all calls of a turn are decided')
    .option('--no-forge', 'its framework has no approval of its own')
    .option('--only <text>', 'only the scenarios with this text in their names')
    .addHelpText(
      'after',
      `
The kit starts its own Countersign server in a temporary folder. It starts a new
process of your agent for each step of each scenario.

Examples:
  countersign conformance -- node my-agent.mjs
  countersign conformance --no-streaming --only killed -- python my_agent.py
  countersign conformance --json -- node my-agent.mjs`,
    )
    .action(async (command: string[], options: ConformanceOptions, self: Command) =>
      runner.operating(self, async (output) =>
        (await import('./conformance.js')).conformance(output, command, options),
      ),
    );
}
