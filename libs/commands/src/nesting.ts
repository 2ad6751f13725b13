import { nestingMax, toolCallStream } from '@countersign/contracts';
import type { ChainLink, FieldError, RequestToolCalls } from '@countersign/contracts';
import { callState } from '@countersign/domain';
import type { ToolCall } from '@countersign/domain';
import { invalidRequest } from './check-calls.js';
import type { CommandPorts } from './ports.js';
import { refused } from './result.js';
import type { Refused } from './with-tool-call.js';
import { callOf } from './with-tool-call.js';

/** The calls around each call of a request, the outermost first; empty for a call that is not nested. */
export type Chains = readonly (readonly ChainLink[])[];

/**
 * Reads the parents that a request names. The chain of a parent was recorded with it, so one stream is read for each.
 * @returns a refusal for a parent that is not recorded in the tenant, and for calls that are nested too deep.
 */
export async function chainsOf(
  { handler }: Pick<CommandPorts, 'handler'>,
  tenant: string,
  { calls }: RequestToolCalls,
  callIds: readonly string[],
): Promise<{ readonly chains: Chains; readonly parents: readonly (ToolCall | undefined)[] } | Refused> {
  const named = new Set(calls.flatMap(({ parentCallId }) => parentCallId ?? []));
  const loaded = await Promise.all(
    [...named].map(async (callId) => [callId, (await handler.load(toolCallStream(callId))).state] as const),
  );
  const known = new Map(loaded.map(([callId, state]) => [callId, callOf(state, tenant)]));
  const parents = calls.map(({ parentCallId = '' }) => known.get(parentCallId));
  const chains = parents.map((parent) =>
    parent === undefined ? [] : [...(parent.request.chain ?? []), linkOf(parent)],
  );
  const errors = calls.flatMap(({ parentCallId }, index): FieldError[] => {
    if (parentCallId === undefined) return [];
    const message = problemOf(parents[index], chains[index]?.length ?? 0, parentCallId === callIds[index]);
    return message === undefined ? [] : [{ path: `calls.${String(index)}.parentCallId`, message }];
  });
  return errors.length === 0 ? { chains, parents } : { status: 'refused', refusal: invalidRequest(errors) };
}

function problemOf(parent: ToolCall | undefined, depth: number, isItself: boolean): string | undefined {
  if (isItself) return 'is this call itself';
  if (parent === undefined) return 'is not a recorded tool call: record the parent first';
  return depth > nestingMax ? `has ${String(nestingMax)} calls around it, and no more are possible` : undefined;
}

function linkOf({ request }: ToolCall): ChainLink {
  const { callId, agentId, toolName, runId, requestedBy, owner, onBehalfOf } = request;
  const people = { ...(owner !== undefined && { owner }), ...(onBehalfOf !== undefined && { onBehalfOf }) };
  return { callId, agentId, toolName, runId, requestedBy, ...people };
}

/** A parent that was cancelled runs nothing, so nothing new can run inside it. */
export function insideCancelled(parent: ToolCall | undefined): Refused | undefined {
  if (parent === undefined || callState(parent) !== 'cancelled') return undefined;
  return refused('already-settled', 'The call inside which this one would run was cancelled.', {
    extra: { state: 'cancelled' },
  });
}
