import { hiddenValues, proposalDigest, shownDigest } from '@countersign/contracts';
import type { JsonObject, JsonValue } from '@countersign/contracts';
import {
  callState,
  currentApproval,
  currentProposal,
  digestInputOf,
  instructionsOf,
  queuedIn,
} from '@countersign/domain';
import type { Action, Approval, ToolCall } from '@countersign/domain';
import type { Defence } from './defences.ts';
import type { Arguments, Shown } from './words.ts';
import { leftOut } from './world.ts';

/** The arguments of the tool `pay`. Its hidden value has the name of a secret. */
export function toArguments({ amount, secret }: Arguments): JsonObject {
  return { ...(amount !== leftOut && { amount }), ...(secret !== null && { password: secret }) };
}

export function fromArguments(args: unknown): Arguments {
  const { amount = leftOut, password = null } = args as { amount?: number; password?: string };
  return { amount, secret: password };
}

/** An answer in the place of a run. Its hidden value has the name of a secret. */
export function toOutput({ text, secret }: { readonly text: string; readonly secret: string | null }): JsonValue {
  return secret === null ? text : { said: text, password: secret };
}

/** What people see of it. */
export function fromOutput(output: unknown): { readonly text: string; readonly hides: boolean } {
  return typeof output === 'string'
    ? { text: output, hides: false }
    : { text: (output as { readonly said: string }).said, hides: true };
}

export function digestOf(state: ToolCall): string | undefined {
  const approval = currentApproval(state);
  return approval && proposalDigest(digestInputOf(approval, state.request.salt));
}

/** The digest of all that a person is shown to agree to. */
export function wholeOf(state: ToolCall, approval: Approval): string {
  return shownDigest(digestOf(state) ?? '', instructionsOf(approval));
}

function seen({ arguments: args, sensitive }: Pick<Action, 'arguments' | 'sensitive'>) {
  return { amount: fromArguments(args).amount, hides: hiddenValues(args, sensitive).length > 0 };
}

/** A call as the write side knows it, in the words of the model. */
export function toShown(state: ToolCall, grants: readonly string[], without: Defence | null): Shown {
  const approval = currentApproval(state);
  const action = without === 'request-shown' && approval ? currentProposal(approval).action : state.action;
  const grantId = state.permission.status === 'allowed' ? state.verdict?.grantId : undefined;
  return {
    ...{ state: callState(state) ?? '', waits: queuedIn(state) !== undefined, ...seen(action) },
    instruction:
      without === 'counted-instructions'
        ? (approval?.votes.find(({ instruction }) => instruction !== null)?.instruction ?? null)
        : state.instruction,
    grant: grantId === undefined ? null : grants.indexOf(grantId),
    approval: approval === undefined ? null : toShownApproval(state, approval),
  };
}

function toShownApproval(state: ToolCall, approval: Approval): Shown['approval'] {
  const { number, kind, action, output } = currentProposal(approval);
  return {
    ...{ state: approval.resolution.status, round: approval.round, proposal: number },
    content: kind === 'answer' ? { kind, ...fromOutput(output) } : { kind, ...seen(action) },
    digest: digestOf(state) ?? '',
    isRequest: action.actionDigest === state.request.actionDigest,
    instructions: instructionsOf(approval).map(({ instruction }) => instruction),
    // A withdrawn response is shown no more.
    inPlaceOf: approval.votes.findLast(({ status }) => status !== 'withdrawn')?.onBehalfOf ?? null,
  };
}
