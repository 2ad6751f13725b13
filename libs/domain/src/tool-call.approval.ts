import type { EventData, RecordedDecision, Refusal, Requirement, ToolCallEvent } from '@countersign/contracts';
import { tooMany } from './bounds.js';
import { accepted, refused } from './decider.js';
import type { RuleResult } from './decider.js';
import { voicesOf } from './identity.js';
import type { Voice } from './identity.js';
import { areEqualJson } from './json-equality.js';
import { expiryAfter, recordedReminders } from './deadline-times.js';
import {
  afterProposal,
  currentProposal,
  isAnswerOf,
  isRunOf,
  requirementOf,
  requirementOfRequest,
  runningClocks,
} from './proposal.js';
import { storedAfter, toStored } from './time.js';
import { checksBeforeEdit, chosenAnswer, responseChecks, revealChecks } from './tool-call.approval-checks.js';
import type { Answer } from './tool-call.approval-checks.js';
import { historyLimits } from './history-limits.js';
import { heldByBatch } from './tool-call.batch.js';
import type {
  EditDecision,
  RespondToApproval,
  Responder,
  ResponseDecision,
  RevealValues,
} from './tool-call.response-commands.js';
import type { Approval, ToolCall, ToolCallState } from './tool-call.state.js';
import { lostVoters, ownVotes, withVotersNow } from './voters.js';
import { tally } from './seats.js';
import { castVote } from './voting.js';

type Response = EventData<'ApprovalResponded'>;

/** The requirement that an edit adds to that of the request; null when that asks all of it, or no rule asks. */
function demandedBy({ judgement }: EditDecision, approval: Approval): Requirement | null {
  if (judgement.outcome !== 'require') return null;
  const asked = requirementOfRequest(approval);
  const { requirement } = judgement;
  // The request may have narrowed its rule, which another policy may repeat; the edit is judged by the rule as it is.
  const { expiresInMs, allowedDecisions } = asked;
  const isNarrowed = hasEndOf(judgement, approval) && isWithin(allowedDecisions, requirement.allowedDecisions);
  return isNarrowed && areEqualJson({ ...requirement, expiresInMs, allowedDecisions }, asked) ? null : requirement;
}

/**
 * Returns whether the request ends when its edit does, or is denied before, or when it wished to where its rule sets no time.
 *
 * Attack: an edit for which the rule of the request has no answer. A stricter rule then counts as well, under the same name.
 */
function hasEndOf({ verdict, requirement, isExpiryOpen }: AskedOfEdit, approval: Approval): boolean {
  const asked = requirementOfRequest(approval);
  if (asked.expiresInMs === requirement.expiresInMs) return true;
  if (asked.onTimeout !== 'deny') return false;
  const { ruleId, policyVersion } = approval.verdict;
  const isWish = isExpiryOpen === true && verdict.ruleId === ruleId && verdict.policyVersion === policyVersion;
  return isWish || isEarlier(asked, requirement);
}

type AskedOfEdit = Extract<EditDecision['judgement'], { readonly outcome: 'require' }>;

function isEarlier({ expiresInMs: one }: Requirement, { expiresInMs: other }: Requirement): boolean {
  return other === 'never' || (one !== 'never' && one < other);
}

function isWithin<Item>(some: readonly Item[], all: readonly Item[]): boolean {
  return some.every((one) => all.includes(one));
}

type RecordedEdit = Extract<RecordedDecision, { type: 'edit' }>;

function recordedEdit(edit: EditDecision, approval: Approval, at: number): RecordedEdit {
  const { type, arguments: args, sensitive, salt, judgement } = edit;
  const requirement = demandedBy(edit, approval);
  const clock = requirement === null ? null : clockOf(requirement, approval, at);
  return { type, arguments: args, sensitive: [...sensitive], salt, verdict: judgement.verdict, requirement, clock };
}

/** A requirement that is running already keeps its deadline: another edit under the same rule gives no more time. */
function clockOf(requirement: Requirement, approval: Approval, at: number): RecordedEdit['clock'] {
  const running = currentProposal(approval).requirements.findIndex(
    (one, index) => index > 0 && areEqualJson(one, requirement),
  );
  const clock = runningClocks(approval)[running];
  const reminders = recordedReminders(requirement, at);
  const expiresAt = clock === undefined ? expiryAfter(requirement, at, requirement.expiresInMs) : clock.expiresAt;
  return { expiresAt, ...reminders };
}

function recorded(decision: ResponseDecision, approval: Approval, at: number): RecordedDecision {
  switch (decision.type) {
    case 'edit':
      return recordedEdit(decision, approval, at);
    case 'answer':
      return { type: 'answer', output: decision.output, ...(decision.salt !== undefined && { salt: decision.salt }) };
    case 'approve':
    case 'deny':
      return decision;
  }
}

/**
 * The number of the proposal that a response is about: an edit or an answer to what is asked already adds none. Attack: a
 * guess of the hidden values of a proposed answer, which would be told by being a vote for it.
 */
function numberOf(
  decision: RecordedDecision,
  { actionDigest, hidesValues }: Pick<Response, 'actionDigest'> & { readonly hidesValues: boolean },
  approval: Approval,
) {
  const current = currentProposal(approval);
  const next = current.number + 1;
  switch (decision.type) {
    case 'edit': {
      const required = [
        requirementOfRequest(approval),
        ...(decision.requirement === null ? [] : [decision.requirement]),
      ];
      const isSame = isRunOf(current, actionDigest) && areEqualJson(current.requirements, required);
      return isSame ? current.number : next;
    }
    case 'answer':
      return isAnswerOf(current, decision.output) && !hidesValues ? current.number : next;
    case 'approve':
    case 'deny':
      return current.number;
  }
}

/** The response as it would be recorded if it resolved nothing. */
function pendingResponse(
  { decision, responder, ...command }: RespondToApproval,
  { respondedBy, onBehalfOf, groups, groupsOfFiles }: Voice,
  approval: Approval,
): Response {
  const written = recorded(decision, approval, command.at);
  const actionDigest = digestOf(decision, approval);
  const hidesValues = decision.type === 'answer' && decision.hidesValues;
  return {
    approvalId: approval.approvalId,
    decision: written,
    proposal: numberOf(written, { actionDigest, hidesValues }, approval),
    shown: command.proposalDigest?.shown ?? null,
    actionDigest,
    reason: command.reason,
    instruction: command.instruction,
    respondedBy,
    ...(responder.name !== undefined && { respondedByName: responder.name }),
    onBehalfOf,
    groups: [...groups],
    ...(groupsOfFiles !== undefined && { groupsOfFiles: [...groupsOfFiles] }),
    via: responder.via,
    assurance: assuranceOf(responder, command.signature),
    automatic: false,
    respondedAt: toStored(command.at),
    resolution: 'pending',
    executeBy: null,
    ...(command.signature !== undefined && { signature: command.signature }),
  };
}

/** A signature is the only thing that gives the assurance `high`. */
function assuranceOf({ assurance }: Responder, signature: RespondToApproval['signature']): Response['assurance'] {
  if (signature !== undefined) return 'high';
  return assurance === 'high' ? 'medium' : assurance;
}

function digestOf(decision: ResponseDecision, { proposals }: Approval): string {
  switch (decision.type) {
    case 'edit':
      return decision.actionDigest;
    case 'answer':
      // An answer is given in the place of what the agent requested.
      return proposals[0]?.action.actionDigest ?? '';
    case 'approve':
    case 'deny':
      return proposals.at(-1)?.action.actionDigest ?? '';
  }
}

/** The response with its resolution, the votes that end with it, and until when the call may be claimed. */
function resolved({ response: given, command }: Answer, found: Found): Response {
  const { at } = command;
  const { approval } = found;
  const ended = [...lostVoters(found, command), ...ownVotes(approval, command, given)];
  const response = ended.length === 0 ? given : { ...given, endedVotes: [...new Set(ended)] };
  const after = castVote(approval, response);
  const resolution = tally(after);
  const { kind } = currentProposal(after);
  const { denyEndsRun, executeByMs } = requirementOf(after);
  const endsRun = resolution === 'denied' && denyEndsRun === true ? { endsRun: true as const } : {};
  const executeBy = resolution === 'approved' && kind === 'run' ? storedAfter(at, executeByMs) : null;
  return { ...response, resolution, executeBy, ...endsRun };
}

/** The response in each voice of the person. */
function answersOf(command: RespondToApproval, { call, approval }: Found): readonly Answer[] {
  return voicesOf(command.responder).map((voice) => {
    const response = pendingResponse(command, voice, approval);
    return { command, call, approval, edited: afterProposal(approval, response), response };
  });
}

/** One person's vote. It resolves the approval when the quorum is reached. */
export function respondToApproval(command: RespondToApproval, state: ToolCallState): RuleResult<ToolCallEvent> {
  const found = findApproval(state, command.approvalId);
  if (found === undefined) return refused('unknown-approval', 'No such approval is recorded.');
  const { call } = found;
  // A person who has lost the right to respond since no longer counts.
  const now = { call, approval: withVotersNow(found, command) };
  const { decision } = command;
  const untold = decision.type === 'edit' && decision.keeps !== undefined ? refusedUntold(command, state) : undefined;
  if (untold !== undefined) return { status: 'refused', refusal: untold };
  const chosen = chosenAnswer(responseChecks, answersOf(command, now));
  if ('refusal' in chosen) return { status: 'refused', refusal: chosen.refusal };
  const data = resolved(chosen.answer, found);
  const held = data.resolution === 'denied' ? heldByBatch(call, command.batch) : undefined;
  return held ?? accepted({ type: 'ApprovalResponded', data });
}

/**
 * Returns why a response is refused whatever the edited arguments are; undefined when nothing else than they can be the reason.
 *
 * Attack: an edit keeps a hidden value next to a guess, and is wrong in another way too, so that it is never recorded: which
 * reason comes first tells by which rule the hidden value is judged.
 */
export function refusedUntold(command: RespondToApproval, state: ToolCallState): Refusal | undefined {
  const found = findApproval(state, command.approvalId);
  if (found === undefined) return undefined;
  const now = { call: found.call, approval: withVotersNow(found, command) };
  const answers = answersOf(command, now).map((one) => ({ ...one, edited: one.approval }));
  const chosen = chosenAnswer(checksBeforeEdit, answers);
  return 'refusal' in chosen ? chosen.refusal : undefined;
}

/**
 * Reveals hidden values to a person who may respond now: it applies the checks of a response that concern the approval
 * and the person.
 */
export function revealValues(command: RevealValues, state: ToolCallState): RuleResult<ToolCallEvent> {
  const { approvalId, pointers, outputPointers, responder, at } = command;
  const found = findApproval(state, approvalId);
  if (found === undefined) return refused('unknown-approval', 'No such approval is recorded.');
  const asked: RespondToApproval = {
    ...{ type: 'RespondToApproval', at, approvalId, decision: { type: 'deny' }, responder },
    ...{ proposalDigest: null, actionDigest: null, reason: null, instruction: null },
  };
  const chosen = chosenAnswer(revealChecks, answersOf(asked, found));
  if ('refusal' in chosen) return { status: 'refused', refusal: chosen.refusal };
  if (pointers.length + outputPointers.length === 0) return accepted();
  const { revealsMax } = historyLimits;
  if (found.approval.reveals >= revealsMax) return { status: 'refused', refusal: tooMany('reveals', revealsMax) };
  const { principal: revealedBy, via } = responder;
  const ofOutput = outputPointers.length === 0 ? {} : { outputPointers: [...outputPointers] };
  const data = { approvalId, revealedBy, pointers: [...pointers], ...ofOutput, via, revealedAt: toStored(at) };
  return accepted({ type: 'ValuesRevealed', data });
}

interface Found {
  readonly call: ToolCall;
  readonly approval: Approval;
}

function findApproval(state: ToolCallState, approvalId: string): Found | undefined {
  if (state.status === 'unrequested') return undefined;
  const approval = state.approvals.find((one) => one.approvalId === approvalId);
  return approval === undefined ? undefined : { call: state, approval };
}
