import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js';
import { createApproverServer, type ApproverOptions } from './approver/approver-server.js';
import { openGate, type Gate } from './gate.js';
import type { GateOptions } from './gate-options.js';
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

/** Serves approvers on this process's stdin and stdout. */
export async function openStdioApprover(
  stdin: NodeJS.ReadStream,
  stdout: NodeJS.WriteStream,
  options: ApproverOptions,
): Promise<Gate> {
  const mcp = createApproverServer(options);
  const ended = Promise.withResolvers<undefined>();
  mcp.server.onclose = () => {
    ended.resolve(undefined);
  };
  await mcp.connect(new StdioServerTransport(stdin, stdout));
  stdin.once('end', () => void mcp.close());
  return { ended: ended.promise, close: () => mcp.close() };
}
