import type { Refusal } from '@countersign/contracts';
import { currentProposal } from './proposal.js';
import type { RespondToApproval } from './tool-call.response-commands.js';
import type { Approval } from './tool-call.state.js';
import { instructionsOf } from './voting.js';

/**
 * Attack: the proposal changed after the approver looked, or another approver added an instruction to the agent. The
 * digests that they saw must be the current ones. Returns the refusal where they are not.
 *
 * Attack: a message that decided nothing, or whose response was withdrawn, is sent again when the same is shown once more. The
 * revision that it names is an older one.
 *
 * Attack: another call of a step that runs together is edited while the approver looks, and their "yes" releases it.
 */
export function refusedUnseen(command: RespondToApproval, approval: Approval): Refusal | undefined {
  const { proposalDigest, shownDigest, shownRevision } = command;
  const mismatch = (detail: string): Refusal => ({ code: 'digest-mismatch', detail, extra: asked(command, approval) });
  const isShown = proposalDigest === null || proposalDigest.shown === proposalDigest.current;
  if (isShown && isOfAction(command, approval)) {
    if (!isToldAll(shownDigest)) {
      return mismatch('The agent gets another instruction than you were shown.');
    }
    if (shownRevision !== undefined && shownRevision.shown !== shownRevision.current) {
      return mismatch('This is a response to an earlier question: look at the current one, and respond to that.');
    }
    return hasShownOthers(command) ? undefined : mismatch(otherCallChanged);
  }
  return mismatch('What is asked is no longer what you answered.');
}

const otherCallChanged =
  'Another call of the step has changed since you looked, and runs together with this one: look at it, and respond again.';

/** A denial only restricts: it ends the step, whatever the others propose. */
function hasShownOthers({ decision, shownOthers }: RespondToApproval): boolean {
  return decision.type === 'deny' || shownOthers === undefined || shownOthers.current.includes(shownOthers.shown);
}

/**
 * Attack: an answer is proposed in place of the run after the approver looked. It has the action of the request, whose digest
 * does not say that its output was seen.
 */
function isOfAction({ actionDigest, proposalDigest, decision }: RespondToApproval, approval: Approval): boolean {
  if (actionDigest === null) return true;
  const { kind, action } = currentProposal(approval);
  const isUnseenAnswer = kind === 'answer' && decision.type === 'approve' && proposalDigest === null;
  return !isUnseenAnswer && actionDigest === action.actionDigest;
}

/** What a person needs to look at before they answer again. */
function asked(
  { proposalDigest, shownDigest, shownRevision, shownOthers }: RespondToApproval,
  approval: Approval,
): NonNullable<Refusal['extra']> {
  const { action, number, kind, proposedBy, proposedAt, replaces } = currentProposal(approval);
  return {
    actionDigest: action.actionDigest,
    proposal: {
      ...{ number, kind, proposedBy, proposedAt, replaces },
      ...(proposalDigest !== null && { digest: proposalDigest.current }),
    },
    ...(shownDigest !== undefined && { shownDigest: shownDigest.current }),
    ...(shownRevision !== undefined && { shownRevision: shownRevision.current }),
    ...(shownOthers?.current[0] !== undefined && { shownOthersDigest: shownOthers.current[0] }),
    instructions: instructionsOf(approval).map((one) => ({ ...one })),
  };
}

/** A surface that shows instructions says so: everybody who votes there after an instruction sees it first. */
function isToldAll(shownDigest: RespondToApproval['shownDigest']): boolean {
  const { shown = null, current } = shownDigest ?? {};
  return shown === null || shown === current;
}
