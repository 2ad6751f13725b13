import { toolCallStream } from '@countersign/contracts';
import type { ChainLink } from '@countersign/contracts';
import { callState } from '@countersign/domain';
import type { ToolCallProposal } from '@countersign/domain';
import { sideBySide } from '@countersign/runtime';
import { callOf } from '../stream/with-tool-call.js';
import { policyOf } from './end-run.js';
import { cancelToolCall } from './cancel-call.js';
import type { OpenCall } from './cancel-run.js';
import type { CommandPorts } from '../ports.js';

/** The open calls of the same principal inside a call. MUST know every call that was recorded before it was asked. */
export interface OpenCallsInside {
  /** @throws ViewsBehindError while the read model lags. */
  readonly inside: (tenant: string, callId: string) => Promise<readonly OpenCall[]>;
}

/** The number of calls in memory at once. */
const atOnce = 32;

/** Cancels the open calls that the same principal has inside a cancelled call. Harmless to repeat. */
export async function endInside(
  { commands, openCalls }: { readonly commands: CommandPorts; readonly openCalls: OpenCallsInside },
  tenant: string,
  callId: string,
): Promise<void> {
  const calls = await openCalls.inside(tenant, callId);
  await sideBySide(calls, atOnce, (call) => endOne(commands, tenant, call.callId, callId));
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
    const outer = await cancelledAround(commands, tenant, chain);
    if (chain.find((link) => link.callId === outer)?.requestedBy !== requestedBy || outer === undefined) continue;
    const ended = await endOne(commands, tenant, callId, outer);
    if (ended.status === 'done') position = Math.max(position, ended.position);
  }
  return position;
}

/**
 * The cancelled call inside which a call with this chain would run, as the streams say now; undefined: there is none. A call that
 * ended without a run before is not cancelled with the call around it, so that is looked at as well. One that may still run, or has
 * run, holds what is inside it.
 */
export async function cancelledAround(
  { handler }: Pick<CommandPorts, 'handler'>,
  tenant: string,
  chain: readonly Pick<ChainLink, 'callId'>[],
): Promise<string | undefined> {
  for (const { callId } of chain.toReversed()) {
    const { state, unreadable } = await handler.look(toolCallStream(callId));
    const call = unreadable === undefined ? callOf(state, tenant) : undefined;
    const now = call === undefined ? null : callState(call);
    if (now === 'cancelled') return callId;
    if (now !== 'expired' && now !== 'denied' && now !== 'blocked') return undefined;
  }
  return undefined;
}

function endOne(commands: CommandPorts, tenant: string, callId: string, outer: string) {
  const reason = `the call ${outer}, inside which it would run, was cancelled`;
  return cancelToolCall(commands, policyOf(tenant), callId, reason, `endInside:${outer}`);
}
