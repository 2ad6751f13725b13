import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js';
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { openGate, type Gate } from './gate.js';
import type { GateOptions } from './gated-calls.js';

/** The inner server as a command. */
export interface ServerCommand {
  readonly command: string;
  readonly args: readonly string[];
  /** The environment of the gate. The server does not get the gate's own settings, which hold tokens. */
  readonly env: Readonly<Record<string, string | undefined>>;
}

/** Opens the gate between this process's stdin and stdout and a server that it starts. */
export async function openStdioGate(
  stdin: NodeJS.ReadStream,
  stdout: NodeJS.WriteStream,
  { command, args, env }: ServerCommand,
  options: GateOptions,
): Promise<Gate> {
  const inherited = Object.entries(env).filter(
    (entry): entry is [string, string] => entry[1] !== undefined && !entry[0].startsWith('COUNTERSIGN_'),
  );
  const server = new StdioClientTransport({ command, args: [...args], env: Object.fromEntries(inherited) });
  const gate = await openGate(new StdioServerTransport(stdin, stdout), server, options);
  stdin.once('end', () => void gate.close());
  return gate;
}
