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
  if (note === null) return result.output;
  const noted = { output: result.output, note };
  notes.add(noted);
  return noted;
}

/** The outputs with a note. A tool's own output can have the same members. */
const notes = new WeakSet<object>();

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

function isNoted(output: unknown): boolean {
  return typeof output === 'object' && output !== null && notes.has(output);
}
