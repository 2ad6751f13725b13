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
type ToldPart = Extract<ToolPart, { state: 'output-available' | 'output-error' | 'output-denied' }>;

/** `resumeUI` of a run. */
export async function resumeUIMessages<M extends UIMessage>(
  calls: Calls,
  gated: ReadonlySet<string>,
  messages: readonly M[],
  limits: Limits = {},
): Promise<Resumed<M>> {
  await validateUIMessages({ messages });
  const parts = messages.flatMap((message) => message.parts.filter(isToolUIPart));
  assertOneToolForEachId(parts.map(named), gated);
  assertOneCallForEachApproval(
    parts.flatMap(({ approval, toolCallId }) => (approval === undefined ? [] : [[approval.id, toolCallId]])),
  );
  const isGated = (part: M['parts'][number]): part is ToolPart => isToolUIPart(part) && gated.has(getToolName(part));
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
  const told = parts.filter(isGated).filter(isTold);
  const recorded = await calls.recorded(
    told.map((part) => ({ ...named(part), isSuccess: part.state === 'output-available' })),
    limits.signal,
  );
  const { verdicts, pending } = await judge(calls, open, limits);
  const partOf = (part: M['parts'][number]): M['parts'][number] => {
    if (!isGated(part)) return part;
    if (isOpen(part)) return respond(part, verdicts.get(part.toolCallId));
    const record = recorded.get(part.toolCallId);
    return record === undefined ? part : withRecord(part, record);
  };
  return { messages: messages.map((message) => ({ ...message, parts: message.parts.map(partOf) })), pending };
}

function named(part: ToolPart): NamedPart {
  return { toolCallId: part.toolCallId, toolName: getToolName(part) };
}

function isOpen(part: ToolPart): part is AskedPart {
  return part.state === 'approval-requested' || part.state === 'approval-responded';
}

function isTold(part: ToolPart): part is ToldPart {
  return part.state === 'output-available' || part.state === 'output-error' || part.state === 'output-denied';
}

/** The part with the input and the result of the ledger. */
function withRecord(given: ToolPart, record: Recorded): ToolPart {
  const part = withInput(given, record);
  if (!isTold(part)) return part;
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
function respond(part: AskedPart, verdict: Verdict | undefined): ToolPart {
  const { approved: _, reason: __, ...approval } = part.approval;
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
