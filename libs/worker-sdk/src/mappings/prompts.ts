import type { FunctionApprovalRequestContent, FunctionApprovalResponseContent } from './function-approval.js';
import type { OtherCall } from './other-calls.js';

/**
 * The questions of a turn by the prompts that ask them: one prompt for the calls that run together or not at all, such as those of a
 * step that a rule asks about as a whole (`batch: any-asks-all`), and one for each other call. A prompt MUST show all of its calls, and those of
 * `releasedBy`.
 */
export function promptsOf(
  requests: readonly FunctionApprovalRequestContent[],
): readonly (readonly FunctionApprovalRequestContent[])[] {
  const prompts = new Map<string, FunctionApprovalRequestContent[]>();
  for (const request of requests) {
    const together = request.functionCall.additionalProperties?.['together'];
    const key = Array.isArray(together) ? JSON.stringify(together) : request.id;
    prompts.set(key, [...(prompts.get(key) ?? []), request]);
  }
  return [...prompts.values()];
}

/**
 * The calls of a step that a prompt does not ask about, such as one that another person has edited and approved. The "yes" to the prompt
 * releases them as well.
 */
export function releasedBy(prompt: readonly FunctionApprovalRequestContent[]): readonly OtherCall[] {
  const asked = new Set(prompt.map(({ functionCall }) => functionCall.callId));
  const others = prompt[0]?.functionCall.additionalProperties?.['others'];
  return Array.isArray(others) ? (others as OtherCall[]).filter(({ toolCallId }) => !asked.has(toolCallId)) : [];
}

/** The one answer to a prompt, as a response to each of its questions. `reason`: where a rule requires one. */
export function responsesTo(
  prompt: readonly FunctionApprovalRequestContent[],
  approved: boolean,
  reason?: string,
): readonly FunctionApprovalResponseContent[] {
  const type = 'function_approval_response';
  const why = reason === undefined ? {} : { additionalProperties: { reason } };
  return prompt.map(({ id, functionCall }) => ({ type, id, functionCall, approved, ...why }));
}
