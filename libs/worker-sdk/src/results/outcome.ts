import type { ApprovalView, JsonObject, ToolCallView } from '@countersign/contracts';
import type { GateTool } from '../tools/tool-definition.js';
import { resultOf, resultOfFailure, type ToolResult } from './results.js';
import type { CallState, RunState } from '../state.js';

/** A call that the client is to run now: hand its output to `submitOutput`. */
export interface ClientCall {
  readonly callId: string;
  readonly toolCallId: string;
  readonly toolName: string;
  /** The approved arguments; after an edit, the approver's. They match the tool's schema. */
  readonly arguments: JsonObject;
  readonly edited: boolean;
  readonly instruction: string | null;
}

/**
 * Why the model cannot continue; null when every call has its result. `awaiting_approval`: also while a call waits for its
 * turn, then perhaps without a pending approval. `awaiting_execution`: another worker has claimed
 * a call, or this one did before a crash.
 */
export type StopReason = 'awaiting_approval' | 'awaiting_client' | 'awaiting_execution' | null;

/** The state of a step: the pause as a value. */
export interface StepOutcome {
  /** The results so far, in the order of the calls. When `stopReason` is null: one for every call. */
  readonly results: readonly ToolResult[];
  readonly pendingApprovals: readonly ApprovalView[];
  readonly hasPendingApprovals: boolean;
  /** The calls that the client must run. */
  readonly clientCalls: readonly ClientCall[];
  readonly stopReason: StopReason;
  /** Which stop keeps a call from running here, who declared it, why and who lifts it; null: none. `wait` later goes on. */
  readonly stopDetail: string | null;
  /** Plain JSON: keep it, and give it to `wait` or `resume`, in this process or another. */
  readonly state: RunState;
}

/** The pending approval of one call of a step; undefined when none is pending. */
export function approvalFor(outcome: StepOutcome, toolCallId: string): ApprovalView | undefined {
  return outcome.pendingApprovals.find((approval) => approval.toolCallId === toolCallId);
}

/** A step in memory: its state, and its calls as last seen. */
export interface Session {
  readonly state: RunState;
  readonly views: Map<string, ToolCallView>;
  /** The values that the tools of this session get besides their input. */
  readonly given?: Given | undefined;
  /** The user to whom its states are bound. */
  readonly bindTo?: string | undefined;
}

/** The values that the caller passes to the tools. Neither is stored. */
export interface Given {
  readonly context: unknown;
  readonly messages: readonly unknown[];
}

/** The outcome according to the session's views. `stopOf`: the words of the stop that keeps a call from running. */
export function outcomeOf(
  session: Session,
  tools: ReadonlyMap<string, GateTool>,
  stopOf: (callId: string) => string | undefined = () => undefined,
): StepOutcome {
  const { state } = session;
  const views = state.calls.map((call) => viewOf(session, call));
  const results = state.calls.flatMap((call, index) =>
    call.local === null ? (resultOfView(views[index]) ?? []) : resultOfFailure(call, call.local),
  );
  const pendingApprovals = views.flatMap((view) =>
    view?.state === 'awaiting_approval' && view.waitsForTurn !== true ? (view.approval ?? []) : [],
  );
  const isQueued = views.some((view) => view?.waitsForTurn === true);
  const clientCalls = inTurn(session).flatMap((call) => {
    const view = viewOf(session, call);
    return view !== undefined && isForClient(view, tools) ? [clientCallOf(view)] : [];
  });
  const isDone = results.length === state.calls.length;
  return {
    results,
    pendingApprovals,
    hasPendingApprovals: pendingApprovals.length > 0,
    clientCalls,
    stopReason: isDone ? null : stopReasonOf(isQueued || pendingApprovals.length > 0, clientCalls.length),
    stopDetail: state.calls.flatMap(({ callId }) => stopOf(callId ?? '') ?? [])[0] ?? null,
    state: {
      ...state,
      calls: state.calls.map((call, index) => ({ ...call, seenRevision: views[index]?.revision ?? call.seenRevision })),
    },
  };
}

/** Returns whether there is something new for the caller: a result, a call for the client to run, or a turn that has come. */
export function hasNews(session: Session, tools: ReadonlyMap<string, GateTool>): boolean {
  return inTurn(session).some((call) => {
    const view = viewOf(session, call);
    if (view === undefined || view.revision <= (call.seenRevision ?? -1)) return false;
    return resultOf(view) !== undefined || isForClient(view, tools) || isAskedInTurn(session, view);
  });
}

/** Until its turn a sequential call had no approval that the caller could show to people. */
function isAskedInTurn({ state }: Session, { approval, waitsForTurn }: ToolCallView): boolean {
  const isInTurn = state.batchMode === 'sequential' || approval?.batch?.mode === 'sequential';
  return isInTurn && waitsForTurn !== true && approval?.state === 'pending';
}

/** Returns whether every call has its result. */
export function isDone(session: Session): boolean {
  return session.state.calls.every((call) => hasResult(session, call));
}

/** The calls that may run: in a sequential step all up to the first without a result. */
export function inTurn(session: Session): readonly CallState[] {
  const { calls, sequential } = session.state;
  if (sequential !== true) return calls;
  const current = calls.findIndex((call) => !hasResult(session, call));
  return current === -1 ? calls : calls.slice(0, current + 1);
}

function hasResult(session: Session, call: CallState): boolean {
  return call.local !== null || resultOfView(viewOf(session, call)) !== undefined;
}

/** Returns whether the client may run the call now: its record says so, and the tool of this worker too. */
export function isForClient(view: ToolCallView, tools: ReadonlyMap<string, GateTool>): boolean {
  return isOpen(view) && view.clientExecuted === true && tools.get(view.toolName)?.clientExecuted === true;
}

/** Returns whether the call may be executed now. */
export function isOpen({ state }: ToolCallView): boolean {
  return state === 'allowed' || state === 'approved';
}

export function viewOf(session: Session, call: CallState): ToolCallView | undefined {
  return call.callId === null ? undefined : session.views.get(call.callId);
}

function resultOfView(view: ToolCallView | undefined): ToolResult | undefined {
  return view === undefined ? undefined : resultOf(view);
}

function clientCallOf(view: ToolCallView): ClientCall {
  const { callId, toolCallId, toolName, instruction } = view;
  const edited = view.originalArguments !== undefined;
  return { callId, toolCallId, toolName, arguments: view.arguments, edited, instruction };
}

function stopReasonOf(isAwaited: boolean, forClient: number): StopReason {
  if (isAwaited) return 'awaiting_approval';
  return forClient > 0 ? 'awaiting_client' : 'awaiting_execution';
}
