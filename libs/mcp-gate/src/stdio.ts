import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { openGate, type Gate } from './gate.js';
import type { GateOptions } from './gated-calls.js';
import type { Wire } from './wire.js';

/** Opens the gate between this process's stdin and stdout and a server. */
export async function openStdioGate(
  stdin: NodeJS.ReadStream,
  stdout: NodeJS.WriteStream,
  server: Wire,
  options: GateOptions,
): Promise<Gate> {
  const gate = await openGate(new StdioServerTransport(stdin, stdout), server, options);
  stdin.once('end', () => void gate.close());
  return gate;
}
