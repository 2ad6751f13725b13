import { comparedIdentity } from './compared-identity.js';
import type { EventData, Refusal, RefusalCode } from '@countersign/contracts';
import { assert } from './assert.js';
import { isBlank } from './blank.js';
import { earlierVote, isOfOneOf, isOneOf } from './earlier-vote.js';
import { noMoreProposals, noMoreResponses } from './bounds.js';
import { historyLimits } from './history-limits.js';
import { isBehind, namesOf, provenNames, voiceNames } from './identity.js';
import { requestersOf } from './requesters.js';
import { needsSignature, reaches } from './requirement.js';
import { currentProposal, expiresAtOf, isOver, requirementOf } from './proposal.js';
import type { RespondToApproval } from './tool-call.response-commands.js';
import type { Approval, Resolution, ToolCall } from './tool-call.state.js';
import { noApproverDetail, stageWithoutApprovers, uncheckedSchema } from './step.questions.js';
import { groupsAsked, isApprover as isApproverOf, isAsked } from './seats.js';
import { refusedUnseen } from './tool-call.approval-seen.js';

type Response = EventData<'ApprovalResponded'>;

function no(code: RefusalCode, detail: string, extra?: Refusal['extra']): Refusal {
  return extra === undefined ? { code, detail } : { code, detail, extra };
}

/** A late person learns who won, when and through which channel; the first decision is never overwritten. */
function alreadyEnded(resolution: Exclude<Resolution, { status: 'pending' }>): Refusal {
  switch (resolution.status) {
    case 'expired':
      return no('expired', 'The approval has expired.', { resolution: 'expired', expiredAt: resolution.at });
    case 'cancelled': {
      const { status, at: cancelledAt, cancelledBy, reason } = resolution;
      const detail = 'The tool call was cancelled.';
      return no('already-resolved', detail, { resolution: status, cancelledBy, cancelledAt, reason });
    }
    case 'approved':
    case 'denied': {
      const { status, at: respondedAt, respondedBy, via } = resolution;
      const detail = `Already ${status} by ${respondedBy} through ${via}.`;
      return no('already-resolved', detail, { resolution: status, respondedBy, respondedAt, via });
    }
  }
}

/**
 * An approval that has ended accepts no response, also when its deadline has passed and the expiry is not yet recorded.
 */
export function notOpen(approval: Approval, at: number): Refusal | undefined {
  if (approval.resolution.status !== 'pending') return alreadyEnded(approval.resolution);
  if (!isOver(approval, at)) return undefined;
  const expiredAt = expiresAtOf(approval);
  return no('expired', 'The deadline of the approval is over.', { resolution: 'expired', expiredAt });
}

/** One response in its context. `edited` is the approval with the proposal that the response makes. */
export interface Answer {
  readonly command: RespondToApproval;
  readonly call: ToolCall;
  readonly approval: Approval;
  readonly edited: Approval;
  readonly response: Response;
}

type Check = (answer: Answer) => Refusal | undefined;

const isOpen: Check = ({ approval, command }) => notOpen(approval, command.at);

/**
 * A person who may not approve what they propose may not propose it. An escalation gave its groups the proposal that
 * waited, and no other.
 */
const isApprover: Check = ({ approval, edited, response }) => {
  if (!isAsked(approval, response.groups)) {
    return no('not-an-approver', 'Others are asked to answer this approval.', { groups: groupsAsked(approval) });
  }
  return edited === approval || isApproverOf(edited, response.groups)
    ? undefined
    : no('not-an-approver', 'Others must approve what you propose.', { groups: groupsAsked(edited) });
};

/** Who may not approve what is asked proposes nothing in its place either. */
const isAssured: Check = ({ approval, edited, command: { responder } }) => {
  const needed = [approval, edited].map((one) => requirementOf(one).minAssurance);
  // `high` is a signature, which has a check of its own.
  const missing = needed.find((level) => level !== 'high' && !reaches(responder.assurance, level));
  if (missing === undefined || missing === null) return undefined;
  const detail = `The assurance of "${responder.via}" is ${responder.assurance}; this approval needs ${missing}.`;
  return no('not-an-approver', detail, { minAssurance: missing });
};

/** Four eyes: the requesters cannot respond, neither through a delegate nor as one, under none of their names. */
const isNotOwnRequest: Check = ({ approval, edited, call, response, command: { responder } }) => {
  const own = namesOf(responder);
  const names = new Set(voiceNames(responder, response.onBehalfOf));
  const asker = requestersOf(call, approval).find((one) => names.has(comparedIdentity(one)));
  if (asker === undefined || !requirementOf(edited).fourEyes) return undefined;
  return own.includes(comparedIdentity(asker))
    ? no('own-request', 'This tool call was requested by you, by your agent, or in your name.')
    : no('own-request', `This tool call was requested by, or in the name of, ${asker}, in whose place you respond.`);
};

const isAllowedDecision: Check = ({ approval, command: { decision } }) => {
  const { allowedDecisions } = requirementOf(approval);
  return allowedDecisions.includes(decision.type)
    ? undefined
    : no('decision-not-allowed', `"${decision.type}" is not among the decisions allowed here.`, { allowedDecisions });
};

const hasReason: Check = ({ edited, command: { decision, reason } }) =>
  requirementOf(edited).requireReason.includes(decision.type) && isBlank(reason ?? '')
    ? no('reason-required', `"${decision.type}" needs a reason.`)
    : undefined;

/**
 * Attack: a person approves what cannot be read. The arguments are erased or their key is lost, so they cannot run. A proposed
 * answer without its values is another one than its author gave.
 */
const isReadable: Check = ({ approval, command: { decision, isAnswerUnreadable = false } }) => {
  const { kind, action } = currentProposal(approval);
  const wouldRun = decision.type === 'edit' || (decision.type === 'approve' && kind === 'run');
  const wouldAnswer = decision.type === 'approve' && kind === 'answer';
  return (wouldRun && action.salt === null) || (wouldAnswer && isAnswerUnreadable)
    ? no(
        'digest-mismatch',
        'Values of this tool call cannot be read, because they are erased or their key is missing: it can be denied.',
      )
    : undefined;
};

const isSeen: Check = ({ command, approval }) => refusedUnseen(command, approval);

const isFirstVote: Check = ({ approval, response, command: { responder } }) => {
  const earlier = earlierVote(approval, response, responder);
  if (earlier === undefined) return undefined;
  const { respondedBy } = response;
  if (isOneOf(provenNames(responder), earlier.respondedBy)) {
    return no('already-voted', 'You have already answered this; withdraw your answer first.');
  }
  if (isOneOf(namesOf(responder), earlier.respondedBy)) {
    return no(
      'already-voted',
      `You have already answered this as ${earlier.respondedBy}; withdraw that answer there first.`,
    );
  }
  return isBehind(earlier, respondedBy)
    ? no('already-voted', `${earlier.respondedBy} has already answered this in your place; withdraw that answer first.`)
    : no(
        'already-voted',
        `The vote of ${String(response.onBehalfOf)} is used already: ${earlier.respondedBy} has answered this.`,
      );
};

const isUnblocked: Check = ({ command: { decision } }) =>
  decision.type === 'edit' && decision.judgement.outcome === 'block'
    ? no('blocked-by-policy', decision.judgement.reason, { verdict: decision.judgement.verdict })
    : undefined;

/** Attack: an edit falls under a strict rule, and the agent has named the approvers whom that rule asks. */
const leavesApprovers: Check = ({ call, approval, edited, command: { approvers, decision } }) => {
  if (approvers === undefined || edited === approval || decision.type !== 'edit') return undefined;
  const stage = stageWithoutApprovers(requirementOf(edited), call.request, approvers);
  return stage === undefined
    ? undefined
    : no('no-approver-left', `Nobody could approve the edit: ${noApproverDetail(stage, decision.judgement.verdict)}.`);
};

const isValid: Check = ({ command: { decision } }) =>
  decision.type === 'edit' && decision.invalid.length > 0
    ? {
        ...no('invalid-arguments', 'The edited arguments do not match the schema of the tool.'),
        errors: decision.invalid,
      }
    : undefined;

/** An edit is checked against the same schema as the request. Its rule may demand more than that of the request did. */
const hasCheckedSchema: Check = ({ call, edited, command: { decision } }) => {
  if (decision.type !== 'edit') return undefined;
  const message = uncheckedSchema(requirementOf(edited), call.request);
  if (message === undefined) return undefined;
  return { ...no('invalid-arguments', `The schema of the tool ${message}.`), errors: [{ path: '', message }] };
};

/** Attack: a front end invents people without end, each with a first response. */
function hasInventedMany({ votes }: Approval, { responder: { vouchedBy } }: RespondToApproval): boolean {
  if (vouchedBy === undefined) return false;
  return (
    votes.filter(({ respondedBy }) => respondedBy.startsWith(`${vouchedBy}#`)).length >= historyLimits.responsesMax
  );
}

/** Attack: a front end fills the history in the name of a person, whose own refusal finds no room. Each name has a first response. */
const isInBounds: Check = ({ approval, edited, command, response }) => {
  const names = voiceNames({ ...command.responder, aliases: [] }, response.onBehalfOf);
  const isFirst = !approval.votes.some((vote) => isOfOneOf(names, vote)) && !hasInventedMany(approval, command);
  return (edited === approval ? undefined : noMoreProposals(approval)) ?? noMoreResponses(approval, command, isFirst);
};

/**
 * Attack: an answer that the person withdrew is sent once more with the same signature. Each signature has a nonce of its
 * own, which counts once in a call; a signature names its proposal, so it counts in no other call.
 */
const isSigned: Check = ({ call, approval, edited, command: { approvalId, signature, responder } }) => {
  if (signature === undefined) {
    return [approval, edited].some((one) => needsSignature(requirementOf(one)))
      ? no('signature-required', signHere(responder.via), { approvalId })
      : undefined;
  }
  const isUsed = call.approvals.some(({ votes }) => votes.some((vote) => vote.signature?.nonce === signature.nonce));
  return isUsed ? no('signature-required', 'This signature was used before. Sign once more.') : undefined;
};

function signHere(via: string): string {
  return via === 'inbox'
    ? 'This approval needs your signature: sign it with your passkey.'
    : `This approval needs your signature, and "${via}" cannot sign: open it in the inbox, and sign it there with your passkey.`;
}

/** In this order: the approval, then the person, then the content of the response. */
export const responseChecks: readonly Check[] = [
  isOpen,
  isApprover,
  isAssured,
  isNotOwnRequest,
  isAllowedDecision,
  hasReason,
  isReadable,
  isSeen,
  isFirstVote,
  isUnblocked,
  leavesApprovers,
  isValid,
  hasCheckedSchema,
  isInBounds,
  isSigned,
];

/** Those before the first one that looks at nothing but the edited arguments. */
export const checksBeforeEdit: readonly Check[] = responseChecks.slice(0, responseChecks.indexOf(isFirstVote));

/** Those that concern the approval and the person. */
export const revealChecks: readonly Check[] = [isOpen, isApprover, isAssured, isNotOwnRequest];

/** Returns the reason to refuse a response and how many checks it passed before, or undefined. */
function firstRefusal(
  checks: readonly Check[],
  answer: Answer,
): { readonly refusal: Refusal; readonly passed: number } | undefined {
  for (const [passed, check] of checks.entries()) {
    const refusal = check(answer);
    if (refusal !== undefined) return { refusal, passed };
  }
  return undefined;
}

/**
 * Chooses the voice of a response: the first that may respond. Without one, the refusal names the nearest reason: that
 * of the voice that passes the most checks.
 */
export function chosenAnswer(
  checks: readonly Check[],
  answers: readonly Answer[],
): { readonly answer: Answer } | { readonly refusal: Refusal } {
  let nearest: ReturnType<typeof firstRefusal>;
  for (const answer of answers) {
    const refused = firstRefusal(checks, answer);
    if (refused === undefined) return { answer };
    if (nearest === undefined || refused.passed > nearest.passed) nearest = refused;
  }
  assert(nearest !== undefined, 'a person has their own voice');
  return { refusal: nearest.refusal };
}
