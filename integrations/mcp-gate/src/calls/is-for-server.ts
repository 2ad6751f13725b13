import type { ToolCallView } from '@countersign/contracts';
import type { GateOptions } from './gate-options.js';

/** A server as its calls name it in the ledger, and the agent that calls it. */
export type CalledServer = Pick<GateOptions, 'agentId' | 'endpoint'>;

/**
 * Returns whether a call was requested by this agent for this server. The attack: a call that people approved for a sandbox
 * runs in production, where the tools have the same names. The ledger names the endpoint in each call as its batch.
 *
 * @param labels those of the calls of this connection: the name of the server. A call without an approval shows none.
 */
export function isForServer(
  { agentId, batchId, approval }: ToolCallView,
  server: CalledServer,
  labels: Readonly<Record<string, string>>,
): boolean {
  if (agentId !== server.agentId || batchId !== server.endpoint) return false;
  return approval === null || approval.labels['mcpServer'] === labels['mcpServer'];
}
