import type { ApprovalView, JsonObject, JsonValue, ToolCallView } from '@countersign/contracts';

/** A call of the same step that runs together with the one that is asked about, as it stands. */
export interface OtherCall {
  readonly toolCallId: string;
  readonly toolName: string;
  /** With those of an edit, also of one that is pending. */
  readonly arguments: JsonObject;
  /** What a person gives in place of the run. Null: the tool runs, or that is its answer. */
  readonly output: JsonValue;
  /** `awaiting_approval`: it has a question of its own. */
  readonly state: ToolCallView['state'];
  readonly approvedBy: readonly string[];
  readonly labels: ApprovalView['labels'];
  readonly instructions: ApprovalView['instructions'];
  /** Another one when something else is proposed. */
  readonly proposalDigest: string;
}

/** @param call as the client of the person reads it: with masks where the person must not see a value. */
export function otherCallOf(call: ToolCallView): OtherCall {
  const { toolCallId, toolName, state, approval, actionDigest } = call;
  const own = { toolCallId, toolName, state };
  if (approval === null) {
    const unasked = { output: null, approvedBy: [], labels: {}, instructions: [] };
    return { ...own, ...unasked, arguments: call.arguments, proposalDigest: actionDigest };
  }
  const { proposal, progress, labels, instructions } = approval;
  const approvedBy = progress.flatMap((stage) => stage.approvedBy);
  const asked = { output: proposal.output, approvedBy, labels, instructions };
  return { ...own, ...asked, arguments: approval.arguments, proposalDigest: proposal.digest };
}
