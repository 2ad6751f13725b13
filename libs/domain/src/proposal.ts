import type { EventData, JsonValue, ProposalDigestInput, Requirement } from '@countersign/contracts';
import { assert } from './assert.js';
import { hasCome, toEpochMs } from './time.js';
import { areEqualJson } from './json-equality.js';
import { inForce } from './requirement.js';
import type { Action, Approval, Proposal, RequirementClock } from './tool-call.state.js';

type Response = EventData<'ApprovalResponded'>;

/** The proposal that people are asked about now, or were asked about last. */
export function currentProposal({ proposals }: Approval): Proposal {
  const current = proposals.at(-1);
  assert(current !== undefined, 'an approval begins with a proposal');
  return current;
}

/** All that the digest of the current proposal covers. `salt` is that of the request. */
export function digestInputOf(approval: Approval, salt: string | null): ProposalDigestInput {
  const { number, kind, action, output, outputSalt, requirements } = currentProposal(approval);
  const subject =
    kind === 'run' ? { kind, actionDigest: action.actionDigest } : { kind, output, salt: outputSalt ?? salt };
  return { approvalId: approval.approvalId, number, requirements, subject };
}

/** The requirement of the rule that judged the request. It is the first of every proposal. */
export function requirementOfRequest({ proposals }: Approval): Requirement {
  const requirement = proposals[0]?.requirements[0];
  assert(requirement !== undefined, 'a proposal has a requirement');
  return requirement;
}

/** All requirements of the current proposal as one. */
export function requirementOf(approval: Approval): Requirement {
  return inForce(currentProposal(approval).requirements);
}

/** When a requirement of the current proposal ends by itself: an escalation moves it. */
function expiryOf(approval: Approval, proposal: Proposal, requirement: number): string | null {
  const moved = approval.escalations.findLast(
    (one) => one.proposal === proposal.number && one.requirement === requirement,
  );
  return moved === undefined ? (proposal.clocks[requirement]?.expiresAt ?? null) : moved.expiresAt;
}

/** The clocks of the current proposal's requirements as they run now. */
export function runningClocks(approval: Approval): readonly RequirementClock[] {
  const proposal = currentProposal(approval);
  return proposal.clocks.map((clock, index) => ({ ...clock, expiresAt: expiryOf(approval, proposal, index) }));
}

/** The first deadline of the current proposal; null: it waits without one. */
export function expiresAtOf(approval: Approval): string | null {
  const proposal = currentProposal(approval);
  let first = expiryOf(approval, proposal, 0);
  for (let index = 1; index < proposal.clocks.length; index += 1) {
    const expiresAt = expiryOf(approval, proposal, index);
    if (first === null || (expiresAt !== null && expiresAt < first)) first = expiresAt;
  }
  return first;
}

/** The requirements of the current proposal whose deadline has come, by their place. */
export function requirementsDue(approval: Approval, at: number): readonly number[] {
  const proposal = currentProposal(approval);
  return proposal.requirements.flatMap((_, index) => (hasCome(expiryOf(approval, proposal, index), at) ? [index] : []));
}

/** Returns whether a deadline has come that ends the responses. With `hold` it only ends the counting. */
export function isOver(approval: Approval, at: number): boolean {
  const { requirements } = currentProposal(approval);
  return requirementsDue(approval, at).some((index) => requirements[index]?.onTimeout !== 'hold');
}

/** When the reminders of the current proposal are due, the earliest first, epoch milliseconds. */
export function reminderTimes(approval: Approval): readonly number[] {
  const { number, proposedAt, requirements, clocks } = currentProposal(approval);
  const times = clocks.flatMap(({ remindAt, since }, index) => {
    const afterMs = requirements[index]?.remindersMs ?? [];
    return remindAt?.map(toEpochMs) ?? afterMs.map((ms) => toEpochMs(since) + ms);
  });
  // Those that were due before belong to the proposals before.
  const due = number === 1 ? times : times.filter((atMs) => atMs > toEpochMs(proposedAt));
  return due.toSorted((one, other) => one - other);
}

/** The approval with a proposal in the place of the current one. Reminders and escalations begin again. */
function withProposal(approval: Approval, next: Omit<Proposal, 'number' | 'replaces'>): Approval {
  const { number } = currentProposal(approval);
  const proposal = { ...next, number: number + 1, replaces: number };
  return {
    ...approval,
    proposals: [...approval.proposals, proposal],
    remindersBefore: approval.remindersSent,
  };
}

/** The first requirement alone, with its clock as it runs now: a change of the proposal does not move its deadline. */
function ofRequest(approval: Approval): Pick<Proposal, 'requirements' | 'clocks'> {
  return { requirements: [requirementOfRequest(approval)], clocks: runningClocks(approval).slice(0, 1) };
}

/** The approval after the proposal that a response makes; the same object when it makes none. */
export function afterProposal(approval: Approval, response: Response): Approval {
  if (!isNewProposal(approval, response)) return approval;
  const { decision, respondedBy: proposedBy, respondedAt: proposedAt } = response;
  const by = { proposedBy, proposedAt };
  switch (decision.type) {
    case 'edit': {
      const { arguments: args, sensitive, salt } = decision;
      const action = { arguments: args, sensitive, salt, actionDigest: response.actionDigest };
      return withProposal(approval, { kind: 'run', action, output: null, ...requiredOf(approval, response), ...by });
    }
    case 'answer': {
      const { output, salt: outputSalt } = decision;
      return withProposal(approval, {
        kind: 'answer',
        action: requested(approval),
        output,
        ...(outputSalt !== undefined && { outputSalt }),
        ...ofRequest(approval),
        ...by,
      });
    }
    case 'approve':
    case 'deny':
      return approval;
  }
}

function requested({ proposals }: Approval): Action {
  assert(proposals[0] !== undefined, 'an approval begins with a proposal');
  return proposals[0].action;
}

/** Older events have no number: there an equal edit or answer was a vote for what was asked. */
function isNewProposal(approval: Approval, { decision, proposal, actionDigest }: Response): boolean {
  const current = currentProposal(approval);
  if (proposal !== null) return proposal > current.number;
  switch (decision.type) {
    case 'edit':
      return !isRunOf(current, actionDigest) || decision.requirement !== null;
    case 'answer':
      return !isAnswerOf(current, decision.output);
    case 'approve':
    case 'deny':
      return false;
  }
}

/** Returns whether a proposal is to run the action with this digest. */
export function isRunOf({ kind, action }: Proposal, actionDigest: string): boolean {
  return kind === 'run' && action.actionDigest === actionDigest;
}

/** Returns whether a proposal is this answer. */
export function isAnswerOf({ kind, output }: Proposal, answer: JsonValue): boolean {
  return kind === 'answer' && areEqualJson(output, answer);
}

function requiredOf(
  approval: Approval,
  { decision, respondedAt }: Response,
): Pick<Proposal, 'requirements' | 'clocks'> {
  const request = ofRequest(approval);
  if (decision.type !== 'edit') return request;
  if (decision.keepsRequirements === true) {
    return { requirements: currentProposal(approval).requirements, clocks: runningClocks(approval) };
  }
  const { requirement, clock } = decision;
  if (requirement === null) return request;
  return {
    requirements: [...request.requirements, requirement],
    clocks: [...request.clocks, { expiresAt: null, ...clock, since: respondedAt }],
  };
}

/** The approval with a question about the agent's request once more: its current proposal has ended. */
export function backToRequest(approval: Approval, at: string): Approval {
  const action = requested(approval);
  const by = { proposedBy: approval.requestedBy, proposedAt: at };
  return withProposal(approval, { kind: 'run', action, output: null, ...ofRequest(approval), ...by });
}

/** Version 1: an answer ended with its last vote, and the last edit was asked about again. */
export function backToLastRun(approval: Approval, at: string): Approval {
  const last = approval.proposals.findLast(({ kind }) => kind === 'run');
  assert(last !== undefined, 'the first proposal is a run');
  const { action, requirements, proposedBy } = last;
  const clocks = [...runningClocks(approval).slice(0, 1), ...last.clocks.slice(1)];
  return withProposal(approval, {
    kind: 'run',
    action,
    output: null,
    requirements,
    clocks,
    proposedBy,
    proposedAt: at,
  });
}
