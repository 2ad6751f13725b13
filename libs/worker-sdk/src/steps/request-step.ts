import type { RequestedCall, ToolCallView } from '@countersign/contracts';
import { isRefusal, type CountersignError } from '../errors.js';
import type { WaitOptions } from '../limits.js';
import type { StepPlan } from './plan.js';
import type { Requests } from '../ledger/requests.js';
import type { CallState, RunState, Step } from '../state.js';

/** A step whose calls are recorded, or have their failure. */
export interface RequestedStep {
  readonly state: RunState;
  readonly views: readonly ToolCallView[];
}

/**
 * Requests the planned calls. A call that only the server refuses, by its arguments, its schema, too large metadata or another
 * part of it, fails, and the others are requested without it.
 */
export async function requestStep(
  ledger: Pick<Requests, 'toolCalls'>,
  agentId: string,
  step: Step,
  plan: StepPlan,
  limits: WaitOptions,
): Promise<RequestedStep> {
  const { runId, batchId, batchMode, onBehalfOf } = step;
  const shared = {
    ...(batchId === undefined ? {} : { batchId }),
    ...(batchMode === undefined ? {} : { batchMode }),
    ...(onBehalfOf === undefined ? {} : { onBehalfOf }),
  };
  let { requests, calls } = plan;
  for (let tries = 1; ; tries += 1) {
    try {
      const body = { runId, agentId, ...shared, calls: [...requests] };
      const options = { signal: limits.signal, requestId: requestIdOf(step, tries) };
      const views = requests.length === 0 ? [] : await ledger.toolCalls(body, options);
      return { state: stateOf(step, withCallIds(calls, views)), views };
    } catch (error) {
      const refused = refusedCall(error, requests);
      if (refused === undefined) throw error;
      const isSpoilt = batchMode === 'all-or-nothing';
      calls = calls.map((call) => failed(call, refused, isSpoilt));
      requests = isSpoilt ? [] : requests.filter((request) => request !== refused.request);
    }
  }
}

function stateOf({ runId, batchMode, sequential = false }: Step, calls: CallState[]): RunState {
  return { version: 1, runId, batchMode: batchMode ?? null, ...(sequential ? { sequential } : {}), calls };
}

/** The longest id: the server takes 255 characters, and a retry adds its number. */
const requestIdLengthMax = 250;

/** Throws a TypeError for an id that no HTTP header can have: without this the server would seem to be away. */
export function checkRequestId({ requestId }: Step): void {
  if (requestId === undefined || (/^[\x21-\x7e]+$/.test(requestId) && requestId.length <= requestIdLengthMax)) return;
  throw new TypeError(
    `requestId must be 1 to ${String(requestIdLengthMax)} ASCII characters without spaces, such as a UUID`,
  );
}

/** The request without the refused call is another request. */
function requestIdOf({ requestId }: Step, tries: number): string | undefined {
  return requestId === undefined || tries === 1 ? requestId : `${requestId}/${String(tries)}`;
}

interface RefusedCall {
  readonly request: RequestedCall;
  readonly code: 'invalid-arguments' | 'invalid-request';
  readonly message: string;
}

/** The call that the server refuses, if its error names it. */
function refusedCall(error: unknown, requests: readonly RequestedCall[]): RefusedCall | undefined {
  if (!isRefusal(error, 'invalid-arguments', 'invalid-request', 'payload-too-large')) return undefined;
  const { errors = [], detail } = error.problem ?? { detail: error.message };
  const index = indexIn([...errors.map(({ path }) => path), detail]) ?? indexByName(error, requests);
  const request = requests[index];
  // Of two calls with one id neither can be told from the other: the step itself is at fault.
  const isNamedOnce = requests.filter(({ toolCallId }) => toolCallId === request?.toolCallId).length === 1;
  if (request === undefined || !isNamedOnce) return undefined;
  const own = errors.filter(({ path }) => path.startsWith(`calls.${String(index)}.`));
  const what = whatIsWrong(own) || detail;
  return error.code === 'invalid-arguments'
    ? { request, code: 'invalid-arguments', message: `Invalid arguments: ${what}` }
    : { request, code: 'invalid-request', message: `Refused: ${what}` };
}

type FieldErrors = readonly { readonly path: string; readonly message: string }[];

function whatIsWrong(errors: FieldErrors): string {
  const what = errors.map(({ path, message }) =>
    `${path.replace(/^calls\.\d+\.(arguments\.?)?/, '')} ${message}`.trim(),
  );
  return what.join('; ');
}

/** The path of a problem; what is heard on Kafka has it in its detail alone. */
function indexIn([first = '']: readonly string[]): number | undefined {
  const index = /\bcalls\.(\d+)\./.exec(first)?.[1];
  return index === undefined ? undefined : Number(index);
}

/** A refusal that was read from Kafka names its calls. It concerns one of them when it names no other. */
function indexByName({ problem }: CountersignError, requests: readonly RequestedCall[]): number {
  const named = problem?.['toolCallIds'];
  if (!Array.isArray(named) || named.length !== 1) return -1;
  return requests.findIndex(({ toolCallId }) => toolCallId === named[0]);
}

function failed(call: CallState, refused: RefusedCall, isSpoilt: boolean): CallState {
  if (call.local !== null) return call;
  const isIt = call.toolCallId === refused.request.toolCallId;
  if (!isIt && !isSpoilt) return call;
  const local = isIt
    ? { code: refused.code, message: refused.message }
    : { code: 'batch-incomplete', message: 'Another call of the same all-or-nothing step is invalid' };
  return { ...call, argumentsHash: null, local };
}

function withCallIds(calls: readonly CallState[], views: readonly ToolCallView[]): CallState[] {
  const callIds = new Map(views.map((view) => [view.toolCallId, view.callId]));
  return calls.map((call) => (call.local === null ? { ...call, callId: callIds.get(call.toolCallId) ?? null } : call));
}
