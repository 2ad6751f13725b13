import type { EventData, Requirement } from '@countersign/contracts';
import type { ApprovalState, ProposalState } from './call-state.js';
import { digestOf, digestOfAnswer } from './digests.js';
import { isSealedAt } from './judged-event.js';
import type { JudgedEvent } from './judged-event.js';
import { shownOfResponse } from './shown-card.js';

export type Response = EventData<'ApprovalResponded'>;

/** The digest of the current proposal, which a card shows; null where a sealed value keeps the judge from computing it. */
export function digestOfProposal({ approvalId, number, proposal }: ApprovalState, salt: string | null): string | null {
  const { kind, actionDigest, output, outputSalt, requirements } = proposal;
  if (kind === 'run') return digestOf({ approvalId, number, actionDigest, requirements });
  const ownSalt = outputSalt ?? salt;
  if (output === null || ownSalt === null) return null;
  return digestOf({ approvalId, number, outputDigest: digestOfAnswer(output, ownSalt), requirements });
}

/** The digest of the output of an answer; null for another decision, and where its values are sealed. */
export function outputOf(event: JudgedEvent, { decision }: Response): string | null {
  return decision.type !== 'answer' || isSealedAt(event, '/decision/output') ? null : digestOf(decision.output);
}

/** Returns whether a sealed value keeps the judge from computing the digest of the current proposal. */
export function isProposalHidden(
  { proposal: { kind, output, outputSalt } }: ApprovalState,
  salt: string | null,
): boolean {
  return kind !== 'run' && (output === null || (outputSalt ?? salt) === null);
}

/** The number of the proposal that a response is about. Version 1 recorded none: an equal edit or answer was a vote. */
export function numberOf(event: JudgedEvent, response: Response, approval: ApprovalState): number {
  const { number, proposal } = approval;
  const { decision } = response;
  if (response.proposal !== null) return response.proposal;
  switch (decision.type) {
    case 'edit': {
      const isEqual = proposal.kind === 'run' && proposal.actionDigest === response.actionDigest;
      return isEqual && decision.requirement === null ? number : number + 1;
    }
    case 'answer': {
      const output = outputOf(event, response);
      return proposal.kind === 'answer' && proposal.output === output && output !== null ? number : number + 1;
    }
    case 'approve':
    case 'deny':
      return number;
  }
}

/**
 * The numbers that a response of version 2 may have. An edit or an answer that equals what is asked is a vote for it, and any other
 * one is the next proposal, as an answer with hidden values always is. Both, where it cannot be read.
 */
export function numbersOf(event: JudgedEvent, response: Response, approval: ApprovalState): readonly number[] {
  const { number } = approval;
  const { type } = response.decision;
  const isEqual = type === 'edit' ? isEditOf(response, approval) : isAnswerOf(event, response, approval);
  if (type === 'approve' || type === 'deny' || isEqual === true) return [number];
  return isEqual === false ? [number + 1] : [number, number + 1];
}

/** Returns whether an edit is what is asked, with its rules. */
function isEditOf({ decision, actionDigest }: Response, { proposal }: ApprovalState): boolean {
  const more = decision.type === 'edit' && decision.requirement !== null ? [decision.requirement] : [];
  const isSame = proposal.kind === 'run' && proposal.actionDigest === actionDigest;
  return isSame && digestOf([...proposal.requirements.slice(0, 1), ...more]) === digestOf(proposal.requirements);
}

/** Returns whether an answer is what is asked. Undefined: its values are sealed. */
function isAnswerOf(event: JudgedEvent, response: Response, { proposal }: ApprovalState): boolean | undefined {
  const { decision } = response;
  const hidesValues = decision.type === 'answer' && decision.salt !== undefined;
  if (proposal.kind === 'run' || hidesValues) return false;
  const output = outputOf(event, response);
  return output === null || proposal.output === null ? undefined : output === proposal.output;
}

/** The proposal that an edit or an answer makes. */
export function proposalOf(event: JudgedEvent, response: Response, approval: ApprovalState): ProposalState {
  const { decision, respondedBy: proposedBy, onBehalfOf, respondedAt: proposedAt } = response;
  const by = { proposedBy, ...(onBehalfOf !== null && { proposedFor: onBehalfOf }), proposedAt };
  if (decision.type !== 'edit') {
    const { firstDigest: actionDigest } = approval;
    const output = outputOf(event, response);
    return {
      kind: 'answer',
      actionDigest,
      output,
      outputSalt: decision.type === 'answer' ? (decision.salt ?? null) : null,
      asked: shownOfResponse(event, response),
      ...ofRequest(approval),
      ...by,
    };
  }
  const asked = shownOfResponse(event, response);
  const run = {
    kind: 'run' as const,
    actionDigest: response.actionDigest,
    output: null,
    outputSalt: null,
    asked,
    ...by,
  };
  if (decision.keepsRequirements === true) {
    const { requirements, expiresAt } = approval.proposal;
    return { ...run, requirements, expiresAt };
  }
  const { requirements, expiresAt } = ofRequest(approval);
  if (decision.requirement === null) return { ...run, requirements, expiresAt };
  return {
    ...run,
    requirements: [...requirements, decision.requirement],
    expiresAt: [...expiresAt, decision.clock?.expiresAt ?? null],
  };
}

/** The requirement of the request alone, with its deadline as it runs now. */
function ofRequest({ proposal }: ApprovalState): {
  readonly requirements: readonly Requirement[];
  readonly expiresAt: readonly (string | null)[];
} {
  return { requirements: proposal.requirements.slice(0, 1), expiresAt: proposal.expiresAt.slice(0, 1) };
}

/** The approval with the next proposal. Agreements to the one before end; denials stay. */
export function withProposal(approval: ApprovalState, proposal: ProposalState): ApprovalState {
  return {
    ...approval,
    number: approval.number + 1,
    proposal,
    lastRun: proposal.kind === 'run' ? proposal : approval.lastRun,
    opened: [],
    votes: approval.votes.filter(({ agrees }) => !agrees),
  };
}

/** The question about the agent's request once more: its proposer has withdrawn what was asked. */
export function backToRequest(approval: ApprovalState, asked: string | null, at: string): ApprovalState {
  const { firstDigest: actionDigest } = approval;
  const by = { proposedBy: approval.requestedBy, proposedAt: at, isRequest: true as const };
  return withProposal(approval, {
    kind: 'run',
    actionDigest,
    output: null,
    outputSalt: null,
    asked,
    ...ofRequest(approval),
    ...by,
  });
}

/** Version 1: an answer ended with its last vote, and the last proposal to run was asked about again. */
export function backToLastRun(approval: ApprovalState, at: string): ApprovalState {
  const { lastRun, proposal } = approval;
  const expiresAt = [...proposal.expiresAt.slice(0, 1), ...lastRun.expiresAt.slice(1)];
  return withProposal(approval, { ...lastRun, expiresAt, proposedAt: at });
}

/** Returns whether a requirement counts signed responses alone. */
export function asksForSignatures({ requireSignature, minAssurance }: Requirement): boolean {
  return requireSignature === true || minAssurance === 'high';
}

/** All that is stricter in any of several requirements. */
export interface Strictest {
  readonly fourEyes: boolean;
  readonly signed: boolean;
  /** Whether a level of assurance is enough. */
  readonly trusts: (assurance: Response['assurance']) => boolean;
  readonly allows: (type: DecisionType) => boolean;
  readonly needsReason: (type: DecisionType) => boolean;
  readonly endsRun: boolean;
  readonly executeByMs: Requirement['executeByMs'];
}

type DecisionType = Response['decision']['type'];

const levels = { low: 1, medium: 2, high: 3 } as const;

/** Returns all that is stricter in any of the requirements. */
export function strictest(requirements: readonly Requirement[]): Strictest {
  const limits = requirements.map(({ executeByMs }) => executeByMs).filter((ms) => ms !== 'never');
  return {
    fourEyes: requirements.some(({ fourEyes }) => fourEyes),
    signed: requirements.some(asksForSignatures),
    trusts: (assurance) =>
      requirements.every(({ minAssurance }) => minAssurance === null || levels[assurance] >= levels[minAssurance]),
    allows: (type) =>
      requirements.every(
        ({ allowedDecisions }, index) => (index > 0 && type === 'deny') || allowedDecisions.includes(type),
      ),
    needsReason: (type) => requirements.some(({ requireReason }) => requireReason.includes(type)),
    endsRun: requirements.some(({ denyEndsRun }) => denyEndsRun === true),
    executeByMs: limits.length === 0 ? 'never' : Math.min(...limits),
  };
}
