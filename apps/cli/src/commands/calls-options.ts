import type { Command } from 'commander';
import { count } from '../count-option.js';
import type { Runner } from '../runner.js';
import { time } from '../time-option.js';
import type { CallFilters } from './calls.js';

const limitDefault = 100;

/** The lists of calls and of runs. */
export function addCallsCommands(program: Command, runner: Runner): void {
  program
    .command('calls')
    .description('list the tool calls, newest first, in all states or in some')
    .option('--state <states>', 'in one of these states, separated by commas')
    .option('--tool <name>', 'this tool only')
    .option('--run <runId>', 'this run only')
    .option('--agent <agentId>', 'this agent only')
    .option('--requested-by <principal>', 'requested by this principal')
    .option('--since <time>', 'requested at or after this time', time)
    .option('--limit <n>', 'at most this many', count, limitDefault)
    .addHelpText(
      'after',
      `
The states: allowed awaiting_approval approved blocked denied expired cancelled
executing succeeded failed unknown. An agent's token sees its own calls. With
--json, one call per line.

Examples:
  countersign calls --state unknown
  countersign calls --state approved,allowed --tool refund_order
  countersign calls --since 2026-11-01 --json | jq -r .callId`,
    )
    .action(async (options: CallFilters, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./calls.js')).calls(invocation, options)),
    );
  program
    .command('runs')
    .description('list the agent runs that have open calls, newest first')
    .option('--agent <agentId>', 'this agent only')
    .option('--limit <n>', 'at most this many', count, limitDefault)
    .addHelpText(
      'after',
      `
A run is listed once for each agent and principal that has open calls in it.
With --json, one of these per line.

Examples:
  countersign runs
  countersign runs --agent billing-agent --json | jq -r .runId`,
    )
    .action(async (options: Pick<CallFilters, 'agent' | 'limit'>, command: Command) =>
      runner.asking(command, async (invocation) => (await import('./calls.js')).runs(invocation, options)),
    );
}
