import { toolCallStream } from '@countersign/contracts';
import type { ChainLink } from '@countersign/contracts';
import { callState } from '@countersign/domain';
import type { ToolCall, ToolCallProposal } from '@countersign/domain';
import { callOf } from '../stream/with-tool-call.js';
import { policyOf } from './end-run.js';
import { cancelToolCall } from './cancel-call.js';
import { cancelWaitingFirst } from './cancel-waiting.js';
import type { OpenCall } from './cancel-run.js';
import type { CommandPorts } from '../ports.js';

/** The open calls of the same principal inside a call. MUST know every call that was recorded before it was asked. */
export interface OpenCallsInside {
  /** @throws ViewsBehindError while the read model lags. */
  readonly inside: (tenant: string, callId: string) => Promise<readonly OpenCall[]>;
}

/** Cancels the open calls that the same principal has inside a cancelled call. Harmless to repeat. */
export async function endInside(
  { commands, openCalls }: { readonly commands: CommandPorts; readonly openCalls: OpenCallsInside },
  tenant: string,
  callId: string,
): Promise<void> {
  const calls = await openCalls.inside(tenant, callId);
  const callIds = calls.map((call) => call.callId);
  await cancelWaitingFirst(callIds, calls, (inner) => endOne(commands, tenant, inner, callId));
}

/**
 * The same for calls that were recorded, or asked about, just now. The call around them may have been cancelled since it was
 * looked at, and the list of the calls inside it made before them. Returns the position of the log afterwards, 0 when there was
 * nothing to do.
 */
export async function endIfInsideCancelled(
  commands: CommandPorts,
  calls: readonly Pick<ToolCallProposal, 'tenant' | 'callId' | 'requestedBy' | 'chain'>[],
): Promise<number> {
  let position = 0;
  for (const { tenant, callId, requestedBy, chain = [] } of calls) {
    const own = chain.filter((outer) => outer.requestedBy === requestedBy);
    const cancelled = await cancelledOf(commands, tenant, own);
    if (cancelled === undefined) continue;
    const ended = await endOne(commands, tenant, callId, cancelled);
    if (ended.status === 'done') position = Math.max(position, ended.position);
  }
  return position;
}

/**
 * Whether a call with this chain would run inside a cancelled one, as the streams say now: the call around it, or any of the same
 * principal further out, whose end ends all that this principal has inside it.
 * @param parent the call around it, where it was read just now. Default: it is read.
 */
export async function isInsideCancelled(
  commands: Pick<CommandPorts, 'handler'>,
  {
    tenant,
    requestedBy,
    chain = [],
  }: Pick<ToolCallProposal, 'tenant' | 'requestedBy'> & { readonly chain?: readonly ChainLink[] },
  parent?: ToolCall,
): Promise<boolean> {
  if (parent !== undefined && callState(parent) === 'cancelled') return true;
  const isKnown = ({ callId }: ChainLink): boolean => callId === parent?.request.callId;
  const outer = chain.filter(
    (link, index) => !isKnown(link) && (link.requestedBy === requestedBy || index === chain.length - 1),
  );
  return (await cancelledOf(commands, tenant, outer)) !== undefined;
}

/** The innermost of these calls that was cancelled. */
async function cancelledOf(
  { handler }: Pick<CommandPorts, 'handler'>,
  tenant: string,
  calls: readonly Pick<ChainLink, 'callId'>[],
): Promise<string | undefined> {
  const looked = await Promise.all(
    calls.map(async ({ callId }) => {
      const { state, unreadable } = await handler.look(toolCallStream(callId));
      const call = unreadable === undefined ? callOf(state, tenant) : undefined;
      return { callId, state: call === undefined ? null : callState(call) };
    }),
  );
  return looked.findLast(({ state }) => state === 'cancelled')?.callId;
}

function endOne(commands: CommandPorts, tenant: string, callId: string, outer: string) {
  const reason = `the call ${outer}, inside which it would run, was cancelled`;
  return cancelToolCall(commands, policyOf(tenant), callId, reason, `endInside:${outer}`);
}
