import type { RequestedCall, ToolCallView } from '@countersign/contracts';
import type { Client } from './client.js';
import { CountersignError } from './errors.js';
import type { WaitOptions } from './limits.js';
import type { StepPlan } from './plan.js';
import { localFailure } from './results.js';
import type { CallState, RunState, Step } from './state.js';

/** A step whose calls are recorded, or have their failure. */
export interface RequestedStep {
  readonly state: RunState;
  readonly views: readonly ToolCallView[];
}

/**
 * Requests what was planned. A call whose arguments only the server refuses (its schema may be stricter than the tool's)
 * gets its failure, and the others are requested without it: one bad call must not take the whole step away.
 */
export async function requestStep(
  client: Client,
  agentId: string,
  step: Step,
  plan: StepPlan,
  limits: WaitOptions,
): Promise<RequestedStep> {
  const { runId, batchId, batchMode } = step;
  const batch = { ...(batchId === undefined ? {} : { batchId }), ...(batchMode === undefined ? {} : { batchMode }) };
  let { requests, calls } = plan;
  for (;;) {
    try {
      const body = { runId, agentId, ...batch, calls: [...requests] };
      const views = requests.length === 0 ? [] : await client.requestToolCalls(body, { signal: limits.signal });
      const state: RunState = { version: 1, runId, batchMode: batchMode ?? null, calls: withCallIds(calls, views) };
      return { state, views };
    } catch (error) {
      const refused = refusedCall(error, requests);
      if (refused === undefined) throw error;
      const isSpoilt = batchMode === 'all-or-nothing';
      calls = calls.map((call) => failed(call, refused, isSpoilt));
      requests = isSpoilt ? [] : requests.filter((request) => request !== refused.request);
    }
  }
}

interface RefusedCall {
  readonly request: RequestedCall;
  readonly message: string;
}

/** Which call it is that the server does not take, if it says so. */
function refusedCall(error: unknown, requests: readonly RequestedCall[]): RefusedCall | undefined {
  if (!(error instanceof CountersignError) || error.code !== 'invalid-arguments') return undefined;
  const errors = error.problem?.errors ?? [];
  const index = /^calls\.(\d+)\.arguments/.exec(errors[0]?.path ?? '')?.[1];
  const request = index === undefined ? undefined : requests[Number(index)];
  if (request === undefined) return undefined;
  const what = errors.map(({ path, message }) => `${path.replace(/^calls\.\d+\.arguments\.?/, '')} ${message}`.trim());
  return { request, message: `Invalid arguments: ${what.join('; ')}` };
}

function failed(call: CallState, refused: RefusedCall, isSpoilt: boolean): CallState {
  if (call.local !== null) return call;
  const isIt = call.toolCallId === refused.request.toolCallId;
  if (!isIt && !isSpoilt) return call;
  const local = isIt
    ? localFailure(call, 'invalid-arguments', refused.message)
    : localFailure(call, 'batch-incomplete', 'Another call of the same all-or-nothing step is invalid');
  return { ...call, argumentsHash: null, local: { ...local, decidedBy: [] } };
}

function withCallIds(calls: readonly CallState[], views: readonly ToolCallView[]): CallState[] {
  const callIds = new Map(views.map((view) => [view.toolCallId, view.callId]));
  return calls.map((call) => (call.local === null ? { ...call, callId: callIds.get(call.toolCallId) ?? null } : call));
}
