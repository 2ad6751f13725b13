import { localError } from '../cli-error.js';
import { findConnection, inboxUrlOf, noTokenFor, type ConnectionOptions } from '../connection/connection.js';
import { exitCodes, type ExitCode } from '../exit-codes.js';
import type { Output } from '../invocation.js';

/** `countersign mcp-approver`: an MCP server with which a person decides in their client, on stdin and stdout. */
export async function mcpApprover(
  { terminal }: Output,
  version: string,
  options: ConnectionOptions,
): Promise<ExitCode> {
  const { stdin, stdout, env, interrupted } = terminal;
  const { url, token } = findConnection(options, env);
  if (token === undefined) {
    throw localError(
      'forbidden',
      'tokens-file',
      noTokenFor(url, env),
      'Set COUNTERSIGN_TOKEN to the token of an approver; on the machine of a standalone server, COUNTERSIGN_DATA to its data folder.',
    );
  }
  const { openStdioApprover } = await import('@countersign/mcp-gate');
  const server = await openStdioApprover(stdin, stdout, { url, token, version, inboxUrl: inboxUrlOf(env, url) });
  interrupted.addEventListener('abort', () => void server.close());
  await server.ended;
  return interrupted.aborted ? exitCodes.interrupted : exitCodes.ok;
}
