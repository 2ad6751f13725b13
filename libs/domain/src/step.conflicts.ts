import type { ChainLink, FieldError, Refusal } from '@countersign/contracts';
import type { StepCall, StepLimits, StepParent } from './step.facts.js';
import { compareRepeat } from './tool-call.repeat.js';
import type { Repeat } from './tool-call.repeat.js';
import { callState } from './tool-call.state.js';
import type { ToolCall } from './tool-call.state.js';

/** The refusal of a request with all its errors. */
export function invalidRequest(errors: readonly FieldError[]): Refusal {
  return { code: 'invalid-request', detail: errors.map((one) => `${one.path}: ${one.message}`).join('; '), errors };
}

/** The calls around a call inside this parent, the outermost first. That of the parent was recorded with it. */
export function chainInside({ call }: StepParent): readonly ChainLink[] {
  return call === undefined ? [] : [...(call.request.chain ?? []), linkOf(call)];
}

function linkOf({ request }: ToolCall): ChainLink {
  const { callId, agentId, toolName, runId, requestedBy, owner, onBehalfOf } = request;
  const people = { ...(owner !== undefined && { owner }), ...(onBehalfOf !== undefined && { onBehalfOf }) };
  return { callId, agentId, toolName, runId, requestedBy, ...people };
}

/** Refuses parents that are not recorded in the tenant, and calls that are nested too deep. */
export function nestingRefusal(calls: readonly StepCall[], limits: StepLimits): Refusal | undefined {
  const errors = calls.flatMap(({ parent, proposal }, index): FieldError[] => {
    const message = parent === null ? undefined : problemOf(parent, proposal.callId, limits);
    return message === undefined ? [] : [{ path: `calls.${String(index)}.parentCallId`, message }];
  });
  return errors.length === 0 ? undefined : invalidRequest(errors);
}

function problemOf(parent: StepParent, callId: string, { nestingMax }: StepLimits): string | undefined {
  if (parent.callId === callId) return 'is this call itself';
  if (parent.call === undefined) return 'is not a recorded tool call: record the parent first';
  const isTooDeep = chainInside(parent).length > nestingMax;
  return isTooDeep ? `has ${String(nestingMax)} calls around it, and no more are possible` : undefined;
}

/** How a call compares with what is recorded under its id. */
export function repeatOf(call: Pick<StepCall, 'proposal' | 'judged' | 'state'>): Repeat | 'new' {
  return call.state.status === 'recorded' ? compareRepeat(call, call.state) : 'new';
}

/** Why the log does not allow these calls: one is recorded otherwise, or would run inside a call that was cancelled. */
export function conflictOf(calls: readonly StepCall[], repeats: readonly (Repeat | 'new')[]): Refusal | undefined {
  for (const [index, repeat] of repeats.entries()) {
    if (typeof repeat === 'object') return mismatch(calls[index], repeat);
  }
  const isInsideCancelled = calls.some(({ parent }, index) => repeats[index] === 'new' && isCancelled(parent));
  if (!isInsideCancelled) return undefined;
  const detail = 'The call inside which this one would run was cancelled.';
  return { code: 'already-settled', detail, extra: { state: 'cancelled' } };
}

function mismatch(call: StepCall | undefined, repeat: Exclude<Repeat, string>): Refusal {
  const why = repeat.status === 'refused' ? repeat.refusal.detail : '';
  const detail = `tool call "${call?.proposal.toolCallId ?? ''}" of this run: ${why} Give a new call a new toolCallId.`;
  return { code: 'tool-call-mismatch', detail };
}

/** A parent that was cancelled runs nothing, so nothing new can run inside it. */
export function isCancelled(parent: StepParent | null): boolean {
  return parent?.call !== undefined && callState(parent.call) === 'cancelled';
}
