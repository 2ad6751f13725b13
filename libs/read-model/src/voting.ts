import { isDeepStrictEqual } from 'node:util';
import type { EventData, Stage } from '@countersign/contracts';
import { answerAt } from './call-row.js';
import type { ApprovalRow, ResponseRow } from './call-row.js';

/*
 * The vote as the log tells it: which responses count, in which stage, and what they propose. The decider has judged
 * them already and recorded the resolution; here it is folded again only to say who is asked next. It MUST agree with
 * the decider's own fold.
 */

type Responded = EventData<'ApprovalResponded'>;
type Voter = Pick<ResponseRow, 'respondedBy' | 'onBehalfOf'>;

/** Channels differ in case and surrounding blanks. */
function normalised(principal: string): string {
  return principal.trim().toLowerCase();
}

function isSamePerson(one: Voter, other: Voter): boolean {
  const names = (voter: Voter): string[] =>
    [voter.respondedBy, ...(voter.onBehalfOf === null ? [] : [voter.onBehalfOf])].map(normalised);
  const others = names(other);
  return names(one).some((name) => others.includes(name));
}

function isCounted({ status }: ResponseRow): boolean {
  return status === 'counted';
}

function agrees({ decision }: ResponseRow): boolean {
  return decision.type !== 'deny';
}

function proposeSame(approval: ApprovalRow, one: ResponseRow, other: ResponseRow, otherAnswer: unknown): boolean {
  if (one.answer === null || other.answer === null)
    return one.answer === other.answer && one.actionDigest === other.actionDigest;
  return isDeepStrictEqual(answerAt(approval, one.answer), otherAnswer);
}

function escalatedTo({ escalations }: ApprovalRow, stage: number): readonly string[] {
  return escalations.filter((escalation) => escalation.stage === stage).flatMap(({ to }) => to);
}

function approversOf(approval: ApprovalRow, stage: number): readonly string[] | null {
  const groups = approval.requirement.stages[stage]?.groups ?? null;
  return groups === null ? null : [...groups, ...escalatedTo(approval, stage)];
}

/** Fills as many seats as possible with distinct people; a seat names, by index, who may take it. */
function seatsFilled(seats: readonly (readonly number[])[]): number {
  const seatOf = new Map<number, number>();
  const place = (seat: number, tried: Set<number>): boolean =>
    (seats[seat] ?? []).some((person) => {
      if (tried.has(person)) return false;
      tried.add(person);
      const taken = seatOf.get(person);
      if (taken !== undefined && !place(taken, tried)) return false;
      seatOf.set(person, seat);
      return true;
    });
  return seats.filter((_, seat) => place(seat, new Set())).length;
}

function isSatisfied(approval: ApprovalRow, index: number, stage: Stage): boolean {
  const votes = approval.responses.filter((vote) => isCounted(vote) && agrees(vote) && vote.stage === index);
  if (stage.mode === 'quorum' || stage.groups === null) return votes.length >= stage.approve;
  const standIns = escalatedTo(approval, index);
  const seats = stage.groups.map((group) =>
    votes.flatMap((vote, person) =>
      vote.groups.some((one) => one === group || standIns.includes(one)) ? [person] : [],
    ),
  );
  return seatsFilled(seats) >= stage.groups.length;
}

/** The stage that is being asked: the first that is not satisfied. The number of stages when all are. */
export function currentStage(approval: ApprovalRow): number {
  const { stages } = approval.requirement;
  const open = stages.findIndex((stage, index) => !isSatisfied(approval, index, stage));
  return open === -1 ? stages.length : open;
}

/** The groups that are asked now, or were asked last; null: anybody. */
export function groupsAsked(approval: ApprovalRow): readonly string[] | null {
  const last = approval.requirement.stages.length - 1;
  // A single stage is the rule, and needs no look at the votes.
  return approversOf(approval, last === 0 ? 0 : Math.min(currentStage(approval), last));
}

function stageOf(approval: ApprovalRow, groups: readonly string[]): number {
  const open = approval.requirement.stages.findIndex((stage, index) => {
    const approvers = approversOf(approval, index);
    return (
      !isSatisfied(approval, index, stage) && (approvers === null || approvers.some((group) => groups.includes(group)))
    );
  });
  return open === -1 ? currentStage(approval) : open;
}

/** What a new vote leaves of an earlier one: a person's own is replaced, an approval of something else is void. */
function afterVote(approval: ApprovalRow, earlier: ResponseRow, vote: ResponseRow, answer: unknown): ResponseRow {
  if (!isCounted(earlier)) return earlier;
  const outdated = agrees(earlier) && agrees(vote) && !proposeSame(approval, earlier, vote, answer);
  return outdated || isSamePerson(earlier, vote) ? { ...earlier, status: 'void' } : earlier;
}

function withRequirementOf(approval: ApprovalRow, { decision }: Responded): ApprovalRow {
  const raised = decision.type === 'edit' ? decision.requirement : null;
  if (raised === null) return approval;
  const last = raised.stages.length - 1;
  const responses = approval.responses.map((vote) => ({ ...vote, stage: Math.min(vote.stage, last) }));
  return { ...approval, requirement: raised, responses };
}

function proposedAnswer(approval: ApprovalRow, { decision }: Responded): number | null {
  if (decision.type === 'edit') return null;
  return decision.type === 'answer' ? approval.responses.length : approval.answer;
}

function toResponse(approval: ApprovalRow, data: Responded): ResponseRow {
  return {
    status: 'counted',
    stage: 0,
    answer: proposedAnswer(approval, data),
    decision: data.decision,
    actionDigest: data.actionDigest,
    respondedBy: data.respondedBy,
    onBehalfOf: data.onBehalfOf,
    groups: data.groups,
    reason: data.reason,
    via: data.via,
    respondedAt: data.respondedAt,
  };
}

/** The approval with one more response counted. */
export function castVote(before: ApprovalRow, data: Responded): ApprovalRow {
  const approval = withRequirementOf(before, data);
  const vote = toResponse(approval, data);
  const output = data.decision.type === 'answer' ? data.decision.output : answerAt(approval, vote.answer);
  const responses = approval.responses.map((earlier) => afterVote(approval, earlier, vote, output));
  const restarted = { ...approval, responses, answer: agrees(vote) ? vote.answer : approval.answer };
  return { ...restarted, responses: [...responses, { ...vote, stage: stageOf(restarted, vote.groups) }] };
}

/** The approval without this person's vote. An answer that nobody stands behind any more is no longer proposed. */
export function withdrawVote(approval: ApprovalRow, principal: string): ApprovalRow {
  const name = normalised(principal);
  const withdrawn = approval.responses.find((vote) => isCounted(vote) && normalised(vote.respondedBy) === name);
  const responses = approval.responses.map((vote): ResponseRow =>
    vote === withdrawn ? { ...vote, status: 'withdrawn' } : vote,
  );
  const output = answerAt(approval, approval.answer);
  const isBacked = responses.some(
    (vote) =>
      isCounted(vote) &&
      agrees(vote) &&
      vote.answer !== null &&
      isDeepStrictEqual(answerAt(approval, vote.answer), output),
  );
  return { ...approval, responses, answer: isBacked ? approval.answer : null };
}
