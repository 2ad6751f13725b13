import type { JsonValue } from '@countersign/contracts';
import type { ToolResult } from './results.js';

/**
 * A result as one text for the model: the output, or the true sentence about why there is none, and the approver's
 * instruction. A string is returned as it is, everything else as JSON.
 */
export function modelText(result: ToolResult): string {
  const { status, output } = result;
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  return [status === 'succeeded' ? text : null, modelNote(result)].filter((part) => part !== null).join('\n');
}

/** The part of `modelText` besides the output, for frameworks that keep outputs as values; null when there is none. */
export function modelNote(result: ToolResult): string | null {
  const { status, message, edited, arguments: args, instruction } = result;
  const parts = [
    message,
    // The message of a success says it.
    edited && status !== 'succeeded' ? 'An approver changed the arguments.' : null,
    // The model must see which arguments ran: its own history still has the old ones.
    edited && args !== null ? `Arguments: ${JSON.stringify(args)}` : null,
    instruction === null ? null : `Instruction of the approver: ${instruction}`,
  ].filter((part) => part !== null);
  return parts.length === 0 ? null : parts.join('\n');
}

/**
 * The output for the model of a framework that takes JSON; as text when there is a note. Throws an `Error` with the text
 * of every result that is not `succeeded`.
 */
export function modelOutput(result: ToolResult): JsonValue {
  if (result.status !== 'succeeded') throw new Error(modelText(result));
  return modelNote(result) === null ? result.output : modelText(result);
}
