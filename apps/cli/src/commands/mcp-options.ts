import type { Command } from 'commander';
import type { Runner } from '../runner.js';
import { gateOption } from './gate-option.js';
import type { McpOptions } from './mcp.js';

/** `countersign mcp`: any MCP server behind approval. */
export function addMcp(program: Command, runner: Runner): void {
  program
    .command('mcp')
    .description('put the tools of an MCP server behind approval')
    .argument('[command...]', 'the command that starts the MCP server (stdio)')
    .option('--server <url>', 'an MCP server that runs elsewhere (streamable HTTP)')
    .option('--listen <port>', 'serve clients of this machine over HTTP, in place of stdin and stdout')
    .addOption(gateOption())
    .option('--ungated <glob...>', 'tools that do not go to the ledger, by name')
    .option('--ungated-read-only', 'tools that the MCP server annotates as read-only do not go to the ledger')
    .option('--tool-approval', 'the draft extension of MCP for approvals (SEP-2848)')
    .option('--hold <duration>', 'how long a request is held while people decide', '45s')
    .option('--lease <duration>', 'a call of a killed gate is unknown after this time', '60s')
    .option('--agent <agentId>', 'the agent that asks', 'mcp')
    .option('--run-id <runId>', 'the run of the calls (default: a new one per connection)')
    .addHelpText(
      'after',
      `
Put it before the command of a server in the settings of an MCP client. It asks
with COUNTERSIGN_TOKEN (an agent) and executes with COUNTERSIGN_RESOLVER_TOKEN;
on the machine of a standalone server COUNTERSIGN_DATA is enough. A server that
runs elsewhere gets COUNTERSIGN_MCP_AUTHORIZATION as its Authorization header.

Examples:
  countersign mcp -- npx -y @modelcontextprotocol/server-filesystem ~/work
  countersign mcp --ungated 'read_*' 'list_*' -- node my-server.mjs
  countersign mcp --gate all --run-id nightly -- node my-server.mjs
  countersign mcp --listen 7500 --server https://mcp.example.com/mcp`,
    )
    .action(async (command: string[], options: McpOptions, self: Command) =>
      runner.operating(self, async (output) =>
        (await import('./mcp.js')).mcp(output, command, { ...self.optsWithGlobals<object>(), ...options }),
      ),
    );
}

/** `countersign mcp-approver`: approvals in the MCP client of a person. */
export function addMcpApprover(program: Command, runner: Runner): void {
  program
    .command('mcp-approver')
    .description('an MCP server (stdio) with which a person decides in their client')
    .addHelpText(
      'after',
      `
A model never decides: the tool "decide" opens a form for the person at the
client. Responses are recorded via "mcp" with low assurance. The token is that
of an approver; keep it where no agent can read it.

Example:
  COUNTERSIGN_TOKEN=cs_… countersign mcp-approver`,
    )
    .action(async (_: unknown, self: Command) =>
      runner.operating(self, async (output) =>
        (await import('./mcp-approver.js')).mcpApprover(output, self.parent?.version() ?? '', self.optsWithGlobals()),
      ),
    );
}
