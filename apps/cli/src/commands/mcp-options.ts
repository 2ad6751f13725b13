import type { Command } from 'commander';
import { Option } from 'commander';
import type { Runner } from '../runner.js';
import type { McpOptions } from './mcp.js';

/** `countersign mcp`: any MCP server behind approval. */
export function addMcp(program: Command, runner: Runner): void {
  program
    .command('mcp')
    .description('put the tools of an MCP server behind approval')
    .argument('<command...>', 'what starts the MCP server (stdio)')
    .addOption(
      new Option('--gate <which>', 'calls that need a person: those of tools that write, all, or as the policy says')
        .choices(['writes', 'all', 'none'])
        .default('writes'),
    )
    .option('--hold <duration>', 'hold a request so long while people decide', '45s')
    .option('--lease <duration>', 'a call of a killed gate is unknown after this time', '60s')
    .option('--agent <agentId>', 'the agent that asks', 'mcp')
    .option('--run-id <runId>', 'the run of the calls (default: a new one per connection)')
    .addHelpText(
      'after',
      `
Put it before the command of a server in the settings of an MCP client. It asks
with COUNTERSIGN_TOKEN (an agent) and executes with COUNTERSIGN_RESOLVER_TOKEN;
on the machine of a standalone server COUNTERSIGN_DATA is enough.

Examples:
  countersign mcp -- npx -y @modelcontextprotocol/server-filesystem ~/work
  countersign mcp --gate all --run-id nightly -- node my-server.mjs`,
    )
    .action(async (command: string[], options: McpOptions, self: Command) =>
      runner.operating(self, async (output) =>
        (await import('./mcp.js')).mcp(output, command, { ...self.optsWithGlobals<object>(), ...options }),
      ),
    );
}
