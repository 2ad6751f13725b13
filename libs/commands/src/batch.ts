import { toolCallStream } from '@countersign/contracts';
import { callState } from '@countersign/domain';
import type { SiblingCall, ToolCall } from '@countersign/domain';
import { callOf, onCall } from './on-call.js';
import type { CommandPorts } from './ports.js';

/** The states in which a member has ended without ever having run: its all-or-nothing batch can no longer be complete. */
const broken = new Set(['blocked', 'denied', 'expired', 'cancelled']);

/** How the other members of a call's batch stand, each by its own stream. */
export async function siblingsOf(ports: CommandPorts, call: ToolCall): Promise<SiblingCall[]> {
  const { callId, tenant, batchMode, batchCallIds } = call.request;
  if (batchMode !== 'all-or-nothing') return [];
  return Promise.all(
    batchCallIds
      .filter((sibling) => sibling !== callId)
      .map(async (sibling) => {
        const { state } = await ports.handler.load(toolCallStream(sibling));
        const recorded = callOf(state, tenant);
        return { callId: sibling, state: (recorded && callState(recorded)) ?? 'missing' };
      }),
  );
}

/**
 * When a member of an all-or-nothing batch ended without running, cancels its open siblings. Harmless to repeat: whoever
 * recorded the end calls it at once, and a process manager again after a crash. Answers where the log stood afterwards.
 */
export async function closeBatchOf(ports: CommandPorts, call: ToolCall): Promise<number> {
  const { callId, tenant, batchMode, batchCallIds } = call.request;
  const state = callState(call);
  if (batchMode !== 'all-or-nothing' || state === null || !broken.has(state)) return 0;
  const reason = `the call ${callId} of the same all-or-nothing batch was ${state}`;
  const outcomes = await Promise.all(
    batchCallIds
      .filter((sibling) => sibling !== callId)
      .map((sibling) =>
        onCall(ports, { tenant, callId: sibling, commandId: `batch:${callId}` }, (_, at) => ({
          type: 'CancelToolCall',
          at,
          reason,
          cancelledBy: 'countersign',
        })),
      ),
  );
  return Math.max(0, ...outcomes.map((outcome) => (outcome.status === 'done' ? outcome.position : 0)));
}

/** As `closeBatchOf`, for a call that is only known by its id. */
export async function closeBatch(ports: CommandPorts, tenant: string, callId: string): Promise<number> {
  const { state } = await ports.handler.load(toolCallStream(callId));
  const call = callOf(state, tenant);
  return call === undefined ? 0 : closeBatchOf(ports, call);
}
