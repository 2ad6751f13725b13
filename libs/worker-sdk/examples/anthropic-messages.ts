// From an answer in the style of Anthropic's Messages API to a step, and from its results to the next message.
import { modelText, type JsonObject, type Step, type StepOutcome } from '@countersign/worker-sdk';

/** The answer of the model, as far as it is needed here. */
export interface AssistantMessage {
  readonly role: 'assistant';
  readonly content: readonly (TextBlock | ToolUseBlock)[];
}

interface TextBlock {
  readonly type: 'text';
  readonly text: string;
}

interface ToolUseBlock {
  readonly type: 'tool_use';
  readonly id: string;
  readonly name: string;
  readonly input: JsonObject;
}

/** All results of a step go into one message of the user. */
export interface ToolResultsMessage {
  readonly role: 'user';
  readonly content: readonly {
    readonly type: 'tool_result';
    readonly tool_use_id: string;
    readonly content: string;
    readonly is_error: boolean;
  }[];
}

/** The calls of one answer are one step. */
export function toStep(runId: string, { content }: AssistantMessage): Step {
  const calls = content.filter((block) => block.type === 'tool_use');
  return {
    runId,
    toolCalls: calls.map(({ id, name, input }) => ({ toolCallId: id, toolName: name, arguments: input })),
  };
}

/** Only when `stopReason` is null does every call have its result. */
export function toMessage({ results }: StepOutcome): ToolResultsMessage {
  return {
    role: 'user',
    content: results.map((result) => ({
      type: 'tool_result',
      tool_use_id: result.toolCallId,
      content: modelText(result),
      is_error: result.status !== 'succeeded',
    })),
  };
}
