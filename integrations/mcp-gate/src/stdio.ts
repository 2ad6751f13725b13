import { createApproverServer, type ApproverOptions } from './approver/approver-server.js';
import { createStdioWire } from './client/stdio-wire.js';
import { openGate, type Gate } from './gate.js';
import type { GateOptions } from './calls/gate-options.js';
import { clientOfAnyVersion } from './stateless/any-version-client.js';
import { isDroppedLine, type Wire } from './wire.js';

/** The largest message of the client, in bytes. */
const bytesMax = 10 * 1024 * 1024;

/**
 * Opens the gate between this process's stdin and stdout and a server.
 *
 * @param note gets a sentence for each line of the client that is refused.
 */
export async function openStdioGate(
  stdin: NodeJS.ReadStream,
  stdout: NodeJS.WriteStream,
  server: Wire,
  options: GateOptions,
  note: (text: string) => void = () => undefined,
): Promise<Gate> {
  const transport = createStdioWire(stdin, stdout, bytesMax);
  const { wire, deliveries } = clientOfAnyVersion(transport);
  const gate = await openGate(wire, server, options, deliveries);
  transport.onerror = (error) => {
    if (isDroppedLine(error))
      note('A line of the MCP client was refused: it is no JSON-RPC message of its version of MCP.');
    // A client that goes on writing would keep the process alive.
    else void gate.close(error).finally(() => stdin.destroy());
  };
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
  await mcp.connect(clientOfAnyVersion(createStdioWire(stdin, stdout, bytesMax)).wire);
  stdin.once('end', () => void mcp.close());
  return { ended: ended.promise, close: () => mcp.close() };
}
