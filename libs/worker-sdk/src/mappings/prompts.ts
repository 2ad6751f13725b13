import type { FunctionApprovalRequestContent, FunctionApprovalResponseContent } from './function-approval.js';

/**
 * The questions of a turn by the prompts that ask them: one prompt for the calls that run together or not at all, such as those of a
 * step that a rule asks about as a whole (`batch: any-asks-all`), and one for each other call. A prompt MUST show all of its calls.
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
