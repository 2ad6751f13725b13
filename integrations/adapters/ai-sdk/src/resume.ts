import { didNotRun, modelText, type ApprovalView, type ToolResult, type WaitOptions } from '@countersign/worker-sdk';
import type { Calls, MessageCall } from './gated-call.js';

/** How long to wait for people. */
export type Limits = Omit<WaitOptions, 'context'>;

/** The messages to go on with, and what people have yet to decide. */
export interface Resumed<M> {
  readonly messages: M[];
  /** While there are some, the framework must not be called. */
  readonly pending: readonly ApprovalView[];
}

/** A call without a result. `isLast` is false when the conversation went on without it. */
export interface OpenCall extends MessageCall {
  readonly isLast: boolean;
}

/** The ledger's verdict about an open call; a call without a verdict is pending. */
export interface Verdict {
  readonly approved: boolean;
  readonly reason?: string;
  /** The result of a call that the framework will not run: the conversation has left it behind, or its schema has changed. */
  readonly left?: ToolResult;
}

export type Verdicts = ReadonlyMap<string, Verdict>;

/** Asks the ledger about open calls, and cancels those that the conversation has left behind. */
export async function judge(
  calls: Calls,
  open: readonly OpenCall[],
  limits: Limits,
): Promise<{ readonly verdicts: Verdicts; readonly pending: readonly ApprovalView[] }> {
  const verdicts = new Map<string, Verdict>();
  const left = open.filter(({ isLast }) => !isLast);
  for (const result of await leave(calls, left, limits)) {
    verdicts.set(result.toolCallId, { approved: !didNotRun(result), reason: modelText(result), left: result });
  }
  const last = open.filter(({ isLast }) => isLast);
  if (last.length === 0) return { verdicts, pending: [] };
  const { results, pendingApprovals } = await calls.look(last, limits);
  const pending = [...pendingApprovals];
  const waiting = new Set(pending.map(({ toolCallId }) => toolCallId));
  for (const call of last) {
    const { toolCallId } = call;
    if (waiting.has(toolCallId)) continue;
    const result = results.find((one) => one.toolCallId === toolCallId);
    const verdict = await verdictOf(calls, call, result, limits);
    if ('approved' in verdict) verdicts.set(toolCallId, verdict);
    else pending.push(verdict);
  }
  return { verdicts, pending };
}

/** An approval: the call waits for people again. */
async function verdictOf(
  calls: Calls,
  call: MessageCall,
  result: ToolResult | undefined,
  { signal }: Limits,
): Promise<Verdict | ApprovalView> {
  if (result !== undefined && didNotRun(result)) return { approved: false, reason: modelText(result) };
  if (await calls.isValid(call)) return { approved: true };
  // The schema has changed, so the framework would not call the tool. Without a result the claim fails.
  if (result !== undefined) return { approved: true, left: result };
  const { result: left, approval } = await calls.end(call, signal);
  return left === null ? (approval ?? { approved: true }) : { approved: true, left };
}

/**
 * The user wrote instead of waiting: what has not begun is cancelled, so that it is not approved for nothing. What has begun
 * is waited for.
 */
async function leave(calls: Calls, left: readonly OpenCall[], { signal }: Limits): Promise<readonly ToolResult[]> {
  if (left.length === 0) return [];
  const { state, results } = await calls.look(left, { signal });
  const ended = new Set(results.map(({ toolCallId }) => toolCallId));
  const begun = new Set<string>();
  for (const { callId, toolCallId } of state.calls) {
    if (callId === null || ended.has(toolCallId)) continue;
    if (!(await calls.cancel(callId, 'the conversation went on without it'))) begun.add(toolCallId);
  }
  await Promise.all(left.filter(({ toolCallId }) => begun.has(toolCallId)).map((call) => calls.end(call, signal)));
  return (await calls.look(left, { signal })).results;
}
