import { toolCallStream } from '@countersign/contracts';
import { requirementOf, runEndedBy } from '@countersign/domain';
import { callOf } from '../stream/with-tool-call.js';
import type { Actor } from '../actor.js';
import { cancelRun } from './cancel-run.js';
import type { CancelRunPorts } from './cancel-run.js';
import { UnreadableStreamError } from '../stream/unreadable-stream.js';

/**
 * Cancels the other open calls of a run after the denial of a call whose rule says `denyEndsRun`; otherwise it does
 * nothing. The calls are those that the requester of the denied call has open now: their list is recorded first, so a
 * repeat concerns the same calls.
 */
export async function endRun(ports: CancelRunPorts, tenant: string, callId: string): Promise<void> {
  const { state, unreadable } = await ports.commands.handler.look(toolCallStream(callId));
  const call = unreadable === undefined ? callOf(state, tenant) : undefined;
  const approval = call?.approvals.at(-1);
  if (call === undefined || approval?.resolution.status !== 'denied') return;
  if (requirementOf(approval).denyEndsRun !== true) return;
  const { runId, requestedBy } = call.request;
  const reason = runEndedBy(callId);
  // Attack: an agent names the run of another principal, to have its calls cancelled. Only its own calls are.
  const run = { runId, reason, requestedBy };
  await cancelRun(ports, policyOf(tenant), run, `endRun:${approval.approvalId}`).catch((error: unknown) => {
    // Its own list cannot be read: which calls it was about is not known.
    if (!(error instanceof UnreadableStreamError)) throw error;
  });
}

/** The policy acts in its own name: it owns no call, and may cancel every one. */
export function policyOf(tenant: string): Actor {
  const roles = new Set(['admin'] as const);
  return { tenant, principal: 'countersign', roles, groups: [], agentIds: [], via: 'policy', assurance: 'low' };
}
