import type { EventData, Refusal, RefusalCode } from '@countersign/contracts';
import { assert } from './assert.js';
import { isBehind, namesOf, normalised } from './identity.js';
import { reaches } from './requirement.js';
import { hasCome } from './time.js';
import type { RespondToApproval } from './tool-call.commands.js';
import type { Approval, Resolution, ToolCall } from './tool-call.state.js';
import { approversOf, currentStage, earlierVoteOn, isApproverOf, proposalOf } from './voting.js';

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
export function notOpen({ resolution, requirement, expiresAt }: Approval, at: number): Refusal | undefined {
  if (resolution.status !== 'pending') return alreadyEnded(resolution);
  // With `hold` the approval stays pending; the deadline only ends the counting.
  const isOver = requirement.onTimeout !== 'hold' && hasCome(expiresAt, at);
  return isOver
    ? no('expired', 'The deadline of the approval is over.', { resolution: 'expired', expiredAt: expiresAt })
    : undefined;
}

/** One response in its context. `edited` is the approval after the response's own edit. */
export interface Answer {
  readonly command: RespondToApproval;
  readonly call: ToolCall;
  readonly approval: Approval;
  readonly edited: Approval;
  readonly response: Response;
}

type Check = (answer: Answer) => Refusal | undefined;

const isOpen: Check = ({ approval, command }) => notOpen(approval, command.at);

/** A person who may not approve the edited arguments may not propose them. */
const isApprover: Check = ({ approval, edited, response }) => {
  const stage = currentStage(approval);
  const groups = approversOf(approval, stage);
  if (!isApproverOf(approval, stage, response.groups)) {
    return no('not-an-approver', 'Others are asked to answer this approval.', { groups });
  }
  const isApproverOfEdited = edited.requirement.stages.some((_, index) => isApproverOf(edited, index, response.groups));
  return isApproverOfEdited ? undefined : no('not-an-approver', 'Others must approve the edited arguments.');
};

const isAssured: Check = ({ edited: { requirement }, command: { responder } }) =>
  reaches(responder.assurance, requirement.minAssurance)
    ? undefined
    : no(
        'not-an-approver',
        `The assurance of "${responder.via}" is ${responder.assurance}; this approval needs ${String(requirement.minAssurance)}.`,
        { minAssurance: requirement.minAssurance },
      );

/** Everybody whose request it is: the principals that asked, the agents' owners, and the people for whom they act. */
function requestersOf({ request }: ToolCall, approval: Approval): readonly string[] {
  const links = [request, ...(request.chain ?? [])];
  const people = links.flatMap(({ requestedBy, owner, onBehalfOf }) => [requestedBy, owner, onBehalfOf]);
  return [approval.requestedBy, ...people].filter((one) => one !== undefined);
}

/** Four eyes: the requesters cannot respond, neither through a delegate nor as one, under none of their names. */
const isNotOwnRequest: Check = ({ approval, edited, call, response, command: { responder } }) => {
  const own = namesOf(responder);
  const delegator = responder.delegators?.find(({ principal }) => principal === response.onBehalfOf);
  const names = new Set([...own, ...(delegator === undefined ? [] : namesOf(delegator))]);
  const asker = requestersOf(call, approval).find((one) => names.has(normalised(one)));
  if (asker === undefined || !edited.requirement.fourEyes) return undefined;
  return own.includes(normalised(asker))
    ? no('own-request', 'This tool call was requested by you, by your agent, or in your name.')
    : no('own-request', `This tool call was requested by, or in the name of, ${asker}, in whose place you respond.`);
};

const isAllowedDecision: Check = ({ approval: { requirement }, command: { decision } }) =>
  requirement.allowedDecisions.includes(decision.type)
    ? undefined
    : no('decision-not-allowed', `"${decision.type}" is not among the decisions allowed here.`, {
        allowedDecisions: requirement.allowedDecisions,
      });

const hasReason: Check = ({ edited: { requirement }, command: { decision, reason } }) =>
  requirement.requireReason.includes(decision.type) && (reason ?? '').trim() === ''
    ? no('reason-required', `"${decision.type}" needs a reason.`)
    : undefined;

/**
 * Attack: the arguments changed after the approver looked. The digest that they saw must be the digest of the approval
 * now.
 */
const isSeenDigest: Check = ({ command: { actionDigest }, call: { action } }) =>
  actionDigest === null || actionDigest === action.actionDigest
    ? undefined
    : no('digest-mismatch', 'The arguments are no longer those that you answered.', {
        actionDigest: action.actionDigest,
      });

const isFirstVote: Check = ({ approval, response }) => {
  const earlier = earlierVoteOn(approval, response, proposalOf(approval, response));
  if (earlier === undefined) return undefined;
  const { respondedBy } = response;
  if (normalised(earlier.respondedBy) === normalised(respondedBy)) {
    return no('already-voted', 'You have already answered this; withdraw your answer first.');
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

const isValid: Check = ({ command: { decision } }) =>
  decision.type === 'edit' && decision.invalid.length > 0
    ? {
        ...no('invalid-arguments', 'The edited arguments do not match the schema of the tool.'),
        errors: decision.invalid,
      }
    : undefined;

/** In this order: the approval, then the person, then the content of the response. */
export const responseChecks: readonly Check[] = [
  isOpen,
  isApprover,
  isAssured,
  isNotOwnRequest,
  isAllowedDecision,
  hasReason,
  isSeenDigest,
  isFirstVote,
  isUnblocked,
  isValid,
];

/** Those of them that concern the approval and the person. */
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
