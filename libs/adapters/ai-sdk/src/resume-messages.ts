import { modelText, type ToolResult } from '@countersign/worker-sdk';
import { InvalidPromptError, modelMessageSchema, type ModelMessage, type ToolModelMessage } from 'ai';
import type { Calls, NamedCall } from './gated-call.js';
import { judge, type Limits, type OpenCall, type Resumed, type Verdicts } from './resume.js';

/** `resume` of a run. */
export async function resumeMessages(
  calls: Calls,
  gated: ReadonlySet<string>,
  messages: readonly ModelMessage[],
  limits: Limits = {},
): Promise<Resumed<ModelMessage>> {
  assertWellFormed(messages);
  await calls.ended(toldCalls(messages, gated), limits.signal);
  const open = openCalls(messages, gated);
  const { verdicts, pending } = await judge(calls, open, limits);
  return { messages: pending.length > 0 ? [...messages] : respond(messages, verdicts), pending };
}

/** Throws before the ledger is asked. The framework makes the same check, but only after the resume. */
function assertWellFormed(messages: readonly ModelMessage[]): void {
  const { error } = modelMessageSchema.array().safeParse(messages);
  if (error === undefined) return;
  throw new InvalidPromptError({ prompt: messages, message: 'The messages are not ModelMessages.', cause: error });
}

type Part = Exclude<ModelMessage['content'], string>[number];

/**
 * Returns the calls that succeeded according to the messages. Errors are left out: only the framework knows some of them.
 * Attack: a client puts a result under another tool's name, or into an assistant message, as if a provider had run the tool.
 */
function toldCalls(messages: readonly ModelMessage[], gated: ReadonlySet<string>): readonly NamedCall[] {
  const parts = messages.flatMap(({ content }): readonly Part[] => (typeof content === 'string' ? [] : content));
  const nameOf = new Map<string, string>();
  for (const part of parts) {
    if (part.type === 'tool-call' && gated.has(part.toolName)) nameOf.set(part.toolCallId, part.toolName);
  }
  return parts.flatMap((part) => {
    if (part.type !== 'tool-result' || failures.has(part.output.type)) return [];
    const { toolCallId } = part;
    const toolName = nameOf.get(toolCallId) ?? part.toolName;
    return gated.has(toolName) ? [{ toolCallId, toolName }] : [];
  });
}

const failures: ReadonlySet<string> = new Set(['error-text', 'error-json', 'execution-denied']);

function openCalls(messages: readonly ModelMessage[], gated: ReadonlySet<string>): readonly OpenCall[] {
  const ended = new Set(
    messages.flatMap((message) =>
      message.role === 'tool'
        ? message.content.flatMap((part) => (part.type === 'tool-result' ? part.toolCallId : []))
        : [],
    ),
  );
  const lastStep = messages.findLastIndex(({ role }) => role !== 'tool');
  return messages.flatMap(({ role, content }, index) =>
    role !== 'assistant' || typeof content === 'string'
      ? []
      : content.flatMap((part) =>
          part.type === 'tool-call' && gated.has(part.toolName) && !ended.has(part.toolCallId)
            ? { ...part, isLast: index === lastStep }
            : [],
        ),
  );
}

/** The responses of a client about these calls are dropped: only the ledger's count. */
function respond(messages: readonly ModelMessage[], verdicts: Verdicts): ModelMessage[] {
  const asked = new Set<string>();
  const responses: ToolModelMessage['content'] = [];
  const kept = messages.flatMap((message): ModelMessage[] => {
    if (message.role === 'tool') {
      const content = message.content.filter((part) => part.type === 'tool-result' || !asked.has(part.approvalId));
      return content.length === 0 ? [] : [{ ...message, content }];
    }
    if (message.role !== 'assistant' || typeof message.content === 'string') return [message];
    const results: ToolModelMessage['content'] = [];
    for (const part of message.content) {
      if (part.type !== 'tool-approval-request') continue;
      const verdict = verdicts.get(part.toolCallId);
      if (verdict === undefined) continue;
      asked.add(part.approvalId);
      const { approvalId } = part;
      const { left, ...response } = verdict;
      if (left === undefined) responses.push({ type: 'tool-approval-response', approvalId, ...response });
      else results.push(resultPart(left));
    }
    return results.length === 0 ? [message] : [message, { role: 'tool', content: results }];
  });
  return responses.length === 0 ? kept : [...kept, { role: 'tool', content: responses }];
}

function resultPart(result: ToolResult): ToolModelMessage['content'][number] {
  const { toolCallId, toolName, status } = result;
  const type = status === 'succeeded' ? 'text' : 'error-text';
  return { type: 'tool-result', toolCallId, toolName, output: { type, value: modelText(result) } };
}
