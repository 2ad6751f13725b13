import type { ToolResult } from './results.js';

/**
 * A result as one text for the model: the output, or the true sentence about why there is none, and the approver's
 * instruction. A string is returned as it is, everything else as JSON.
 */
export function modelText(result: ToolResult): string {
  const { status, output, message, instruction } = result;
  const text = typeof output === 'string' ? output : JSON.stringify(output);
  return [
    status === 'succeeded' ? text : null,
    message,
    // The model must see which arguments ran: its own history still has the old ones.
    result.edited && result.arguments !== null ? `Arguments: ${JSON.stringify(result.arguments)}` : null,
    instruction === null ? null : `Instruction of the approver: ${instruction}`,
  ]
    .filter((part) => part !== null)
    .join('\n');
}
