import { useCallback, useState } from 'react';
import type { ApprovalView, JsonObject, ToolCallView } from '@countersign/contracts';
import { endedProposalWords } from '@countersign/text';
import type { ShownSiblings } from './siblings-shown.js';

/** A change of what a person agrees to since they looked. */
export interface Change {
  /** The arguments that the person has seen. */
  readonly before: JsonObject;
  readonly after: JsonObject;
  readonly proposal: ApprovalView['proposal'];
  /** The edit or answer that has ended, such as with its withdrawal, so that it is the agent's request again; otherwise empty. */
  readonly ended: string;
  /** The proposal is the same: the instructions to the agent are others. */
  readonly isToldAlone: boolean;
  readonly instructions: ApprovalView['instructions'];
  /** Another call of the step has changed, which runs together with this one: show those again. */
  readonly isOfOthers: boolean;
}

type Looked = Pick<ApprovalView, 'proposal' | 'arguments' | 'shownDigest' | 'shownOthersDigest'>;

/**
 * Compares an approval with what the person has seen of it. A new digest is a change until the person acknowledges it,
 * so that a button never means something else than what it meant when the person looked.
 */
export function useChange(approval: ApprovalView): {
  readonly change: Change | undefined;
  readonly acknowledge: (seen: Looked) => void;
} {
  const [looked, acknowledge] = useState<Looked>(approval);
  const isSame = looked.shownDigest === approval.shownDigest;
  const { shownOthersDigest: others } = approval;
  const isOfOthers = others !== undefined && looked.shownOthersDigest !== others;
  if (approval.state !== 'pending' || (isSame && !isOfOthers)) return { change: undefined, acknowledge };
  const { proposal, instructions, endedProposals } = approval;
  const isToldAlone = !isSame && looked.proposal.digest === proposal.digest;
  const ended = isEdit(approval) ? '' : endedProposalWords(endedProposals.slice(-1));
  return {
    change: {
      before: looked.arguments,
      after: approval.arguments,
      proposal,
      ended,
      isToldAlone,
      instructions,
      isOfOthers,
    },
    acknowledge,
  };
}

/** Another call of an all-or-nothing step, of which something else would run than the person has seen. */
export interface SiblingChange {
  readonly before: ToolCallView;
  readonly after: ToolCallView;
}

/** Compares the other calls of an all-or-nothing step with what the person has seen of them first. */
export function useSiblingChanges(): {
  readonly changes: readonly SiblingChange[];
  /** Of what all of them proposed when they were shown. Undefined: they are not read yet. */
  readonly digest: string | undefined;
  readonly onShown: (shown: ShownSiblings) => void;
  readonly acknowledge: () => void;
} {
  const [{ looked, now, digest }, set] = useState<Siblings>({ looked: {}, now: {}, digest: undefined });
  const onShown = useCallback(({ calls, digest: shown }: ShownSiblings) => {
    const read = Object.fromEntries(calls.map((call) => [call.callId, call] as const));
    set((before) => ({ looked: { ...read, ...before.looked }, now: { ...before.now, ...read }, digest: shown }));
  }, []);
  const acknowledge = useCallback(() => set((before) => ({ ...before, looked: before.now })), []);
  return { changes: changesOf(looked, now), digest, onShown, acknowledge };
}

type CallsById = Readonly<Record<string, ToolCallView>>;

interface Siblings {
  readonly looked: CallsById;
  readonly now: CallsById;
  readonly digest: string | undefined;
}

/** Returns the calls of which something else is proposed than the person has seen. */
export function changesOf(looked: CallsById, now: CallsById): readonly SiblingChange[] {
  return Object.values(now).flatMap((after) => {
    const before = looked[after.callId];
    const isSame = before === undefined || proposedBy(before) === proposedBy(after);
    return isSame ? [] : [{ before, after }];
  });
}

/** All that would come of a call: its arguments, or an answer in their place. */
export const proposedBy = ({ arguments: args, approval }: ToolCallView): string =>
  JSON.stringify([args, approval?.proposal.kind, approval?.proposal.output]);

/** Returns whether a person changed what the agent asks for: after a withdrawal it is the agent's own request again. */
export function isEdit({ proposal: { replaces, proposedBy }, requestedBy }: ApprovalView): boolean {
  return replaces !== null && proposedBy !== requestedBy;
}

/**
 * Returns whether all that is new since the person decided is their own: it is no news to them. The answer to a vote may show
 * what another person has done after it.
 */
export function isOwnChange(before: ApprovalView, after: ApprovalView, principal: string): boolean {
  const isOwn = (name: string): boolean => name === principal;
  const told = new Set(before.instructions.map(toldBy));
  return (
    (before.proposal.digest === after.proposal.digest || isOwn(after.proposal.proposedBy)) &&
    after.instructions.every((one) => isOwn(one.respondedBy) || told.has(toldBy(one)))
  );
}

function toldBy({ respondedBy, instruction, ifDenied }: ApprovalView['instructions'][number]): string {
  return JSON.stringify([respondedBy, instruction, ifDenied === true]);
}
