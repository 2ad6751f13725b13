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
  const { toolCallId, toolName, state, approval } = call;
  return {
    ...{ toolCallId, toolName, state, arguments: approval?.arguments ?? call.arguments },
    output: approval?.proposal.output ?? null,
    approvedBy: approval?.progress.flatMap(({ approvedBy }) => approvedBy) ?? [],
    ...{ labels: approval?.labels ?? {}, instructions: approval?.instructions ?? [] },
    proposalDigest: approval?.proposal.digest ?? call.actionDigest,
  };
}
