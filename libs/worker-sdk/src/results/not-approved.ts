import type { Client } from '../ledger/client.js';
import { callsOfRun } from '../ledger/read-run.js';
import type { ToolResult } from './results.js';

/** Thrown by adapters in place of running a call that the ledger has not approved, also when the framework's state says that it is. */
export class NotApprovedError extends Error {
  override readonly name = 'NotApprovedError';
  constructor(
    readonly toolCallId: string,
    /** Null when the call was never requested. */
    readonly approvalId: string | null,
  ) {
    const why = approvalId === null ? 'it was never requested' : `approval ${approvalId} is pending`;
    super(`The call ${toolCallId} did not run: ${why} in Countersign.`);
  }
}

/**
 * Throws `NotApprovedError` for a call that the run does not have in the ledger. A framework's stored state may come from a
 * client: a call in it that was never requested was not made by the model.
 */
export async function assertRequested(
  { client }: { readonly client: Client },
  runId: string,
  toolCallIds: readonly string[],
  signal?: AbortSignal,
): Promise<void> {
  if (toolCallIds.length === 0) return;
  const calls = await callsOfRun(client, runId, { signal });
  const unknown = toolCallIds.find((id) => calls.every(({ toolCallId }) => toolCallId !== id));
  if (unknown !== undefined) throw new NotApprovedError(unknown, null);
}

/** Returns whether the call ended without its tool having been started. */
export function didNotRun({ status }: ToolResult): boolean {
  return status === 'denied' || status === 'blocked' || status === 'expired' || status === 'cancelled';
}
