import type { Command } from 'commander';
import type { Runner } from '../runner.js';
import type { AcpOptions } from './acp.js';
import { gateOption, readOnlyOption } from './gate-option.js';

/** `countersign acp`: the permission requests of any ACP agent, answered from the ledger. */
export function addAcp(program: Command, runner: Runner): void {
  program
    .command('acp')
    .description('answer the permission requests of an agent of the Agent Client Protocol from the ledger')
    .argument('<command...>', 'the command that starts the agent (stdio)')
    .addOption(gateOption())
    .addOption(readOnlyOption())
    .option('--lease <duration>', 'a call without a result is unknown after this time', '10m')
    .option('--agent <agentId>', 'the agent that asks', 'acp')
    .addHelpText(
      'after',
      `
Put it before the command of an agent in the settings of an editor. It asks with
COUNTERSIGN_TOKEN (an agent) and claims with COUNTERSIGN_RESOLVER_TOKEN; on the
machine of a standalone server COUNTERSIGN_DATA is enough. People can approve or
deny: the protocol carries neither other arguments nor a reason.

Examples:
  countersign acp -- gemini --acp
  countersign acp --read-only read search -- gemini --acp`,
    )
    .action(async (command: string[], options: AcpOptions, self: Command) =>
      runner.operating(self, async (output) =>
        (await import('./acp.js')).acp(output, command, { ...self.optsWithGlobals<object>(), ...options }),
      ),
    );
}
