import type { Command } from 'commander';
import { Argument } from 'commander';
import type { Runner } from '../runner.js';
import { gateOption, readOnlyOption } from './gate-option.js';
import type { HookCommandOptions } from './hook.js';

/** The agents of `integrations/coding-agents`, by name, so that the help loads nothing. */
const agents = ['claude-code', 'codex', 'gemini', 'opencode', 'cursor', 'copilot'];

/** `countersign hook`: the tools of a coding agent behind approval. */
export function addHook(program: Command, runner: Runner): void {
  program
    .command('hook')
    .description('put the tools of a coding agent behind approval: its hook before each tool')
    .addArgument(new Argument('<agent>', 'the coding agent').choices(agents))
    .option('--post', 'the hook after each tool: record how it ended')
    .addOption(gateOption())
    .addOption(readOnlyOption())
    .option('--ungated <glob...>', 'tools that do not go to the ledger, by name')
    .option('--hold <duration>', "how long to wait for a decision (default: below the agent's own timeout)")
    .option('--lease <duration>', 'a call without a report is unknown after this time', '10m')
    .option('--agent <agentId>', 'the agent that asks (default: the name of the coding agent)')
    .option('--defer', 'Claude Code with -p: end its process while people decide')
    .addHelpText(
      'after',
      `
The agent runs it: it reads the call on stdin and writes the decision on stdout.
A failure before the tool denies the call, with exit code 2 where the agent
reads it. With --post a failure ends with 1 and does not stop the agent. The
hook asks with COUNTERSIGN_TOKEN (an agent) and claims with
COUNTERSIGN_RESOLVER_TOKEN; on the machine of a standalone server
COUNTERSIGN_DATA is enough.

Examples:
  countersign hook claude-code
  countersign hook claude-code --post
  countersign hook copilot --read-only view grep glob
  countersign hook codex --gate all --ungated 'mcp__docs__*'`,
    )
    .action(async (agent: string, options: HookCommandOptions, self: Command) =>
      runner.operating(self, async (output) =>
        (await import('./hook.js')).hook(output, agent, { ...self.optsWithGlobals<object>(), ...options }),
      ),
    );
}
