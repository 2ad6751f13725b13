// From an answer in the style of OpenAI's chat completions to a step, and from its results to the next messages.
import { modelText, type Step, type StepOutcome } from '@countersign/worker-sdk';

/** The answer of the model, as far as it is needed here. */
export interface AssistantMessage {
  readonly role: 'assistant';
  readonly tool_calls?: readonly {
    readonly id: string;
    readonly type: 'function';
    readonly function: { readonly name: string; readonly arguments: string };
  }[];
}

/** One result for the model. Every call needs one before the model can go on. */
export interface ToolMessage {
  readonly role: 'tool';
  readonly tool_call_id: string;
  readonly content: string;
}

/** The calls of one answer are one step. */
export function toStep(runId: string, { tool_calls = [] }: AssistantMessage): Step {
  return {
    runId,
    toolCalls: tool_calls.map((call) => ({
      toolCallId: call.id,
      toolName: call.function.name,
      arguments: parsed(call.function.arguments),
    })),
  };
}

/** Arguments that are no JSON fail their call (`invalid-arguments`), and the model hears why. */
function parsed(text: string): Step['toolCalls'][number]['arguments'] {
  try {
    return JSON.parse(text === '' ? '{}' : text) as Step['toolCalls'][number]['arguments'];
  } catch {
    return text;
  }
}

/** Every call has its message only when `stopReason` is null. */
export function toMessages({ results }: StepOutcome): ToolMessage[] {
  return results.map((result) => ({ role: 'tool', tool_call_id: result.toolCallId, content: modelText(result) }));
}
