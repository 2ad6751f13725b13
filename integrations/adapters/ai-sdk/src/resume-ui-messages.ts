import { modelText } from '@countersign/worker-sdk';
import {
  getToolName,
  isToolUIPart,
  validateUIMessages,
  type DynamicToolUIPart,
  type ToolUIPart,
  type UIMessage,
} from 'ai';
import type { Calls } from './gated-call.js';
import { outputOf } from './noted-output.js';
import {
  assertOneCallForEachApproval,
  assertOneToolForEachId,
  withInput,
  type NamedPart,
  type Recorded,
} from './recorded.js';
import { judge, type Limits, type OpenCall, type Resumed, type Verdict } from './resume.js';

type ToolPart = ToolUIPart | DynamicToolUIPart;
type AskedPart = Extract<ToolPart, { state: 'approval-requested' | 'approval-responded' }>;
type OpenPart = AskedPart | Extract<ToolPart, { state: 'input-available' }>;
type ToldPart = Extract<ToolPart, { state: 'output-available' | 'output-error' | 'output-denied' }>;

/** `resumeUI` of a run. */
export async function resumeUIMessages<M extends UIMessage>(
  calls: Calls,
  gated: ReadonlySet<string>,
  given: readonly M[],
  limits: Limits = {},
): Promise<Resumed<M>> {
  // A client may send anything: what is malformed is left to the framework.
  const sent: unknown = given;
  const messages = Array.isArray(sent) ? given.map(withResponses) : given;
  await validateUIMessages({ messages });
  const parts = messages.flatMap((message) => message.parts.filter(isToolUIPart));
  assertOneToolForEachId(parts.map(named), gated);
  assertOneCallForEachApproval(
    parts.flatMap(({ approval, toolCallId }) => (approval === undefined ? [] : [[approval.id, toolCallId]])),
  );
  const isGated = (part: M['parts'][number]): part is ToolPart => isToolUIPart(part) && gated.has(getToolName(part));
  const ours = parts.filter(isGated);
  const lost = lostParts(ours);
  const recorded = await calls.recorded(
    ours
      .filter((part) => isTold(part) || lost.has(part))
      .map((part) => ({ ...named(part), isSuccess: part.state === 'output-available' })),
    limits.signal,
  );
  const isOpen = (part: ToolPart): part is OpenPart =>
    isAsked(part) || (lost.has(part) && recorded.get(part.toolCallId)?.input !== undefined);
  const open = messages.flatMap((message, index) => {
    const isLast = index === messages.length - 1;
    // The user wrote while the calls before it waited.
    const steering = message.parts.findLastIndex(({ type }) => type === 'steering-message');
    const asked = message.parts.filter(isGated).filter(isOpen);
    return asked.map((part): OpenCall => {
      const { input } = part;
      return { ...named(part), input, isLast: isLast && message.parts.indexOf(part) > steering };
    });
  });
  const { verdicts, pending } = await judge(calls, open, limits);
  const partOf = (part: M['parts'][number]): M['parts'][number] => {
    if (!isGated(part)) return part;
    if (isOpen(part)) return respond(part, verdicts.get(part.toolCallId));
    const record = recorded.get(part.toolCallId);
    return record === undefined ? part : withRecord(part, record, isTold(part) || lost.has(part));
  };
  return { messages: messages.map((message) => ({ ...message, parts: message.parts.map(partOf) })), pending };
}

/**
 * A browser that saw nothing but the stream has the end of a call, and no response to its question: people gave theirs to the ledger.
 * The framework refuses such a part. What the response says here counts for nothing.
 */
function withResponses<M extends UIMessage>(message: M): M {
  if (!Array.isArray((message as Partial<M> | null)?.parts)) return message;
  const parts = message.parts.map((part) => {
    if (typeof (part as Partial<typeof part> | null)?.type !== 'string' || !isToolUIPart(part) || !isTold(part))
      return part;
    const { approval } = part as { approval?: { readonly approved?: boolean } | null };
    if (typeof approval !== 'object' || approval === null || 'approved' in approval) return part;
    return { ...part, approval: { ...approval, approved: part.state !== 'output-denied' } } as M['parts'][number];
  });
  return { ...message, parts };
}

function named(part: ToolPart): NamedPart {
  return { toolCallId: part.toolCallId, toolName: getToolName(part) };
}

/**
 * Returns the parts of calls that were made, and about which the messages have nothing else: the stream to the browser
 * broke after `tool-input-available`. The framework would miss their results in every later request.
 */
function lostParts(parts: readonly ToolPart[]): ReadonlySet<ToolPart> {
  const others = new Set(parts.flatMap((part) => (isAsked(part) || isTold(part) ? part.toolCallId : [])));
  return new Set(parts.filter(({ state, toolCallId }) => state === 'input-available' && !others.has(toolCallId)));
}

function isAsked(part: ToolPart): part is AskedPart {
  return part.state === 'approval-requested' || part.state === 'approval-responded';
}

function isTold(part: ToolPart): part is ToldPart {
  return part.state === 'output-available' || part.state === 'output-error' || part.state === 'output-denied';
}

/** The part with the input and, where it has one or needs one, the result of the ledger. */
function withRecord(given: ToolPart, record: Recorded, hasResult: boolean): ToolPart {
  const part = withInput(given, record);
  if (!hasResult) return part;
  if (record.status === 'failed') {
    const { text } = record;
    return part.state === 'output-denied'
      ? { ...part, approval: { ...part.approval, reason: text } }
      : ({ ...part, state: 'output-error', errorText: text } as ToolPart);
  }
  const { errorText: _, ...rest } = part;
  const approval = part.approval && { approval: { ...part.approval, approved: true } };
  return { ...rest, ...approval, state: 'output-available', output: record.output } as ToolPart;
}

/** The state of a part as the ledger has it: a response of the client is replaced, or taken back. */
function respond(given: OpenPart, verdict: Verdict | undefined): ToolPart {
  // A lost part has no approval of the framework. The id of the call is as unique.
  const { approved: _, reason: __, ...approval } = given.approval ?? { id: given.toolCallId };
  const part = given as AskedPart;
  if (verdict === undefined) return { ...part, state: 'approval-requested', approval };
  const { approved, reason, left } = verdict;
  const why = reason === undefined ? {} : { reason };
  if (left === undefined) return { ...part, state: 'approval-responded', approval: { ...approval, ...why, approved } };
  if (!approved) return { ...part, state: 'output-denied', approval: { ...approval, ...why, approved } };
  const ran = { ...part, approval: { ...approval, approved } };
  return left.status === 'succeeded'
    ? { ...ran, state: 'output-available', output: outputOf(left) }
    : { ...ran, state: 'output-error', errorText: modelText(left) };
}
