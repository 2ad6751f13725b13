import { modelText } from '@countersign/worker-sdk';
import {
  getToolName,
  isToolUIPart,
  validateUIMessages,
  type DynamicToolUIPart,
  type ToolUIPart,
  type UIMessage,
} from 'ai';
import { outputOf, type Calls } from './gated-call.js';
import { judge, type Limits, type OpenCall, type Resumed, type Verdict } from './resume.js';

type ToolPart = ToolUIPart | DynamicToolUIPart;
type AskedPart = Extract<ToolPart, { state: 'approval-requested' | 'approval-responded' }>;
type ToldPart = Extract<ToolPart, { state: 'output-available' }>;

/** `resumeUI` of a run. */
export async function resumeUIMessages<M extends UIMessage>(
  calls: Calls,
  gated: ReadonlySet<string>,
  messages: readonly M[],
  limits: Limits = {},
): Promise<Resumed<M>> {
  await validateUIMessages({ messages });
  const isOpen = (part: M['parts'][number]): part is AskedPart => {
    if (!isToolUIPart(part) || !gated.has(getToolName(part))) return false;
    return part.state === 'approval-requested' || part.state === 'approval-responded';
  };
  const open = messages.flatMap(({ parts }, index) =>
    parts.filter(isOpen).map((part): OpenCall => {
      const { toolCallId, input } = part;
      return { toolCallId, toolName: getToolName(part), input, isLast: index === messages.length - 1 };
    }),
  );
  const isTold = (part: M['parts'][number]): part is ToldPart =>
    isToolUIPart(part) && gated.has(getToolName(part)) && part.state === 'output-available';
  const told = messages.flatMap(({ parts }) =>
    parts.filter(isTold).map((part) => ({ toolCallId: part.toolCallId, toolName: getToolName(part) })),
  );
  const ended = await calls.ended(told, limits.signal);
  const { verdicts, pending } = await judge(calls, open, limits);
  const partOf = (part: M['parts'][number]): M['parts'][number] => {
    if (isTold(part)) return { ...part, ...ended.get(part.toolCallId) };
    return isOpen(part) ? respond(part, verdicts.get(part.toolCallId)) : part;
  };
  return { messages: messages.map((message) => ({ ...message, parts: message.parts.map(partOf) })), pending };
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
