import { modelNote, modelText, type JsonValue, type ToolResult } from '@countersign/worker-sdk';
import type { ToolModelMessage } from 'ai';

/** The output of a call about which the model must know more: the edited arguments, a person's answer, an instruction. */
export interface NotedOutput {
  readonly output: JsonValue;
  readonly note: string;
}

/** An output as the messages of the model have it. */
export type ModelOutput = Extract<ToolModelMessage['content'][number], { type: 'tool-result' }>['output'];

/** Throws unless the call succeeded: the framework tells the model the message as the tool's error. */
export function outputOf(result: ToolResult): JsonValue | NotedOutput {
  if (result.status !== 'succeeded') throw new Error(modelText(result));
  const note = modelNote(result);
  return note === null ? result.output : { output: result.output, note };
}

/** The framework's `toModelOutput` of a tool. */
export type ToModelOutput = (call: {
  readonly toolCallId: string;
  readonly input: unknown;
  readonly output: unknown;
}) => ModelOutput | PromiseLike<ModelOutput>;

/** The tool's own conversion does not know notes, and would keep them from the model. */
export function toModelOutputOf({ toModelOutput }: { readonly toModelOutput?: ToModelOutput }): ToModelOutput {
  return (call) => {
    const { output } = call;
    if (toModelOutput !== undefined && !isNoted(output)) return toModelOutput(call);
    return typeof output === 'string' ? { type: 'text', value: output } : { type: 'json', value: output as JsonValue };
  };
}

function isNoted(output: unknown): output is NotedOutput {
  if (typeof output !== 'object' || output === null) return false;
  return Object.keys(output).sort().join() === 'note,output' && 'note' in output && typeof output.note === 'string';
}
