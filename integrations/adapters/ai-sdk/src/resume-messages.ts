import { isSameJson, modelText, type ToolResult } from '@countersign/worker-sdk';
import { InvalidPromptError, modelMessageSchema, type ModelMessage, type ToolModelMessage } from 'ai';
import type { Calls } from './gated-call.js';
import type { ModelOutput, ToModelOutput } from './noted-output.js';
import {
  assertOneCallForEachApproval,
  assertOneToolForEachId,
  withInput,
  type NamedPart,
  type Recorded,
  type ToldCall,
} from './recorded.js';
import { judge, type Limits, type OpenCall, type Resumed, type Verdicts } from './resume.js';

/** The tools behind the gate, as the framework has them. */
type Gated = ReadonlyMap<string, { readonly toModelOutput: ToModelOutput }>;

/** `resume` of a run. */
export async function resumeMessages(
  calls: Calls,
  gated: Gated,
  messages: readonly ModelMessage[],
  limits: Limits = {},
): Promise<Resumed<ModelMessage>> {
  assertWellFormed(messages);
  const parts = messages.flatMap(({ content }): readonly Part[] => (typeof content === 'string' ? [] : content));
  assertOneToolForEachId(parts.filter(isNamed), gated);
  assertOneCallForEachApproval(
    parts.flatMap((part) => (part.type === 'tool-approval-request' ? [[part.approvalId, part.toolCallId]] : [])),
  );
  const recorded = await calls.recorded(toldCalls(parts, gated), limits.signal);
  const { verdicts, pending } = await judge(calls, openCalls(messages, gated), limits);
  const told = await Promise.all(messages.map((message) => withRecords(message, recorded, gated)));
  return { messages: pending.length > 0 ? told : respond(told, verdicts), pending };
}

/** Throws before the ledger is asked. The framework makes the same check, but only after the resume. */
function assertWellFormed(messages: readonly ModelMessage[]): void {
  const { error } = modelMessageSchema.array().safeParse(messages);
  if (error === undefined) return;
  const message =
    'The messages are not ModelMessages; the cause names the first wrong member. Pass the messages of `useChat` to `resumeUI`.';
  throw new InvalidPromptError({ prompt: messages, message, cause: error });
}

type Part = Exclude<ModelMessage['content'], string>[number];

function isNamed(part: Part): part is Part & NamedPart {
  return part.type === 'tool-call' || part.type === 'tool-result';
}

/** Attack: a client puts a result into an assistant message, as if a provider had run the tool. */
function toldCalls(parts: readonly Part[], gated: Gated): readonly ToldCall[] {
  return parts.flatMap((part) => {
    if (part.type !== 'tool-result' || !gated.has(part.toolName)) return [];
    const { toolCallId, toolName, output } = part;
    return [{ toolCallId, toolName, isSuccess: !failures.has(output.type) }];
  });
}

const failures: ReadonlySet<string> = new Set(['error-text', 'error-json', 'execution-denied']);

/** The message with the inputs and the results of the ledger. */
async function withRecords(
  message: ModelMessage,
  recorded: ReadonlyMap<string, Recorded>,
  gated: Gated,
): Promise<ModelMessage> {
  if (typeof message.content === 'string') return message;
  const partOf = async (part: Part): Promise<Part> => {
    const record = isNamed(part) ? recorded.get(part.toolCallId) : undefined;
    if (record === undefined) return part;
    if (part.type === 'tool-call') return withInput(part, record);
    return part.type === 'tool-result' ? withOutput(part, record, gated) : part;
  };
  return { ...message, content: await Promise.all(message.content.map(partOf)) } as ModelMessage;
}

type ResultPart = Extract<Part, { type: 'tool-result' }>;

async function withOutput(part: ResultPart, record: Recorded, gated: Gated): Promise<ResultPart> {
  const output = await recordedOutput(part, record, gated);
  const { providerOptions: _, ...told } = part.output as ModelOutput & { providerOptions?: unknown };
  return isSameJson(told, output) ? part : { ...part, output };
}

function recordedOutput(
  { toolCallId, toolName, output: { type } }: ResultPart,
  record: Recorded,
  gated: Gated,
): ModelOutput | PromiseLike<ModelOutput> {
  if (record.status === 'failed') {
    return type === 'execution-denied' ? { type, reason: record.text } : { type: 'error-text', value: record.text };
  }
  const { input, output } = record;
  return gated.get(toolName)?.toModelOutput({ toolCallId, input, output }) ?? { type: 'json', value: null };
}

function openCalls(messages: readonly ModelMessage[], gated: Gated): readonly OpenCall[] {
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
  return responses.length === 0 ? kept : withResponses(kept, responses);
}

/**
 * The framework reads the responses of the last message alone, so those to other tools of the step go into the same message. One
 * whose call has a result stays where it is: behind the result, the framework would run the call again.
 */
function withResponses(messages: readonly ModelMessage[], responses: ToolModelMessage['content']): ModelMessage[] {
  const step = messages.findLastIndex(({ role }) => role !== 'tool');
  const parts = messages.flatMap(({ content }): readonly Part[] => (typeof content === 'string' ? [] : content));
  const ended = new Set(parts.flatMap((part) => (part.type === 'tool-result' ? part.toolCallId : [])));
  const open = new Set(
    parts.flatMap((part) =>
      part.type === 'tool-approval-request' && !ended.has(part.toolCallId) ? part.approvalId : [],
    ),
  );
  const isOpen = (part: ToolModelMessage['content'][number]): boolean =>
    part.type === 'tool-approval-response' && open.has(part.approvalId);
  let last: ToolModelMessage = { role: 'tool', content: responses };
  const kept = messages.flatMap((message, index): ModelMessage[] => {
    if (index < step || message.role !== 'tool') return [message];
    const moved = message.content.filter(isOpen);
    if (moved.length > 0) last = { ...message, content: [...moved, ...last.content] };
    const content = message.content.filter((part) => !isOpen(part));
    return content.length === 0 ? [] : [{ ...message, content }];
  });
  return [...kept, last];
}

function resultPart(result: ToolResult): ToolModelMessage['content'][number] {
  const { toolCallId, toolName, status } = result;
  const type = status === 'succeeded' ? 'text' : 'error-text';
  return { type: 'tool-result', toolCallId, toolName, output: { type, value: modelText(result) } };
}
