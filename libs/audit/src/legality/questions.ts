import type { EventData, Requirement } from '@countersign/contracts';
import type { ApprovalState, CallState, CountedVote, ProposalState } from './call-state.js';
import { illegal, isOfVersion1 } from './judged-event.js';
import type { Illegal, JudgedEvent } from './judged-event.js';
import { compared, isBehind, isSameFolded, notCounted, peopleOf } from './names.js';
import { backToLastRun, backToRequest, strictest } from './proposal.js';
import { openStage } from './seats.js';
import { textDigest } from './shown-card.js';
import { hasBecomeDue, hasCome, storedAfter } from './times.js';

/** A broken rule, or the approval after the event. */
export type Changed = Illegal | ApprovalState;

type Question = EventData<'ApprovalRequested'>;

/** Judges a question to people, and returns the approval that it begins. */
export function begin(event: JudgedEvent, call: CallState): Changed {
  const data = event.data as Question;
  const { approvalId, round, actionDigest, requirement, requestedBy, requestedAt, expiresAt } = data;
  const { ruleId, policyVersion } = data.verdict;
  const broken = notNext(data, call) ?? oneTooMany(event, round) ?? notAsked(event, call);
  if (broken !== undefined) return broken;
  const by = { proposedBy: requestedBy, proposedAt: requestedAt };
  const proposal: ProposalState = {
    ...{
      kind: 'run',
      actionDigest,
      output: null,
      outputSalt: null,
      requirements: [requirement],
      expiresAt: [expiresAt],
    },
    asked: call.request.shown.asked,
    ...by,
  };
  return {
    ...{
      approvalId,
      round,
      requestedBy,
      askedAt: event.recordedAt,
      isPending: true,
      firstDigest: actionDigest,
      number: 1,
    },
    ...{ proposal, lastRun: proposal, opened: [], escalations: 0, reminders: 0, votes: [], touched: null },
    words: { reason: textDigest(data.reason), description: textDigest(data.description) },
    judgedBy: { ruleId, policyVersion },
  };
}

/** Rounds have rising numbers, and an approval the id of its call and its round. */
export function notNext(
  { approvalId, round }: Pick<Question, 'approvalId' | 'round'>,
  call: CallState,
): Illegal | undefined {
  const last = call.approval?.round ?? 0;
  if (round !== last + 1) return illegal('approval', `round ${String(round)} follows round ${String(last)}`);
  return approvalId === `apr_${call.request.callId.slice('tc_'.length)}_${String(round)}`
    ? undefined
    : illegal('approval', `its id ${approvalId} is not that of the call and the round`);
}

/** How often people are asked about one call. */
const roundsMax = 16;

function oneTooMany(event: JudgedEvent, round: number): Illegal | undefined {
  return round > roundsMax && !isOfVersion1(event)
    ? illegal('approval', `people are asked about the call more than ${String(roundsMax)} times`)
    : undefined;
}

function notAsked(event: JudgedEvent, call: CallState): Illegal | undefined {
  const { verdict, actionDigest, requirement, requestedAt, expiresAt } = event.data as Question;
  if (verdict.outcome !== 'require') return illegal('verdict', 'the verdict asks no person');
  // Version 1 asked again about an edit that had been approved.
  const known = isOfVersion1(event) ? [call.request.actionDigest, ...call.edits] : [call.request.actionDigest];
  if (!known.includes(actionDigest)) return illegal('digest', 'people are asked about another action than the request');
  return isDeadline(expiresAt, requirement, requestedAt, requirement.expiresInMs)
    ? undefined
    : illegal('deadline', 'its deadline is not the one of its requirement');
}

/** Business hours need a table of time zones, which the judge does not have: it cannot say more than that time passes. */
export function isDeadline(
  expiresAt: string | null,
  { businessHours }: Requirement,
  since: string,
  ms: number | 'never',
): boolean {
  const earliest = storedAfter(since, ms);
  if (businessHours === undefined || earliest === null || expiresAt === null) return expiresAt === earliest;
  return expiresAt >= earliest;
}

/** Words are added to a question, and never replaced. */
export function describe(event: JudgedEvent, approval: ApprovalState): Changed {
  const { reason, description } = event.data as EventData<'ApprovalDescribed'>;
  const { words } = approval;
  if ((words.reason !== null && reason !== null) || (words.description !== null && description !== null)) {
    return illegal('approval', 'it replaces words that people may have read');
  }
  const added = { reason: textDigest(reason), description: textDigest(description) };
  return {
    ...approval,
    words: { reason: words.reason ?? added.reason, description: words.description ?? added.description },
  };
}

/**
 * A person takes back a vote that counts, or what they proposed, whose vote was lost. Attack: a front end takes back a vote of another
 * person in the name of one of its own.
 */
export function withdraw(event: JudgedEvent, call: CallState, approval: ApprovalState): Changed {
  const data = event.data as Withdrawn;
  const { withdrawnBy, castBy = withdrawnBy, ends, withdrawnAt } = data;
  if (isOver(approval, withdrawnAt)) return illegal('deadline', 'the deadline of the approval was over');
  const vote = approval.votes.find((one) => isBehind(one, castBy));
  const broken = notOwn(data, vote ?? proposerOf(event, approval, castBy));
  if (broken !== undefined) return broken;
  const left = { ...approval, votes: approval.votes.filter((one) => one !== vote) };
  if (isOfVersion1(event)) return afterWithdrawal1(left, withdrawnAt);
  const ended = vote === undefined ? 'proposal' : (endedBy(vote, approval) ?? ends);
  if (ends !== ended) return illegal('withdrawal', `it ends the ${ends}, and ends the ${ended} by the rules`);
  return ended === 'proposal' ? backToRequest(left, call.request.shown.asked, withdrawnAt) : left;
}

type Withdrawn = EventData<'ResponseWithdrawn'>;
type Voice = Pick<CountedVote, 'by' | 'onBehalfOf'>;

function notOwn(
  { withdrawnBy, castBy = withdrawnBy, vouchedBy }: Withdrawn,
  voice: Voice | undefined,
): Illegal | undefined {
  if (voice === undefined) return illegal('withdrawal', `no vote of ${castBy} counts, and nothing of theirs is asked`);
  return vouchedBy === undefined || peopleOf(voice).some((name) => isSameFolded(name, withdrawnBy))
    ? undefined
    : illegal('withdrawal', `a front end ends the vote of ${castBy} in the name of ${withdrawnBy}`);
}

/** The people who proposed what is asked, if this is one of them. The request is no proposal of a person. */
function proposerOf(event: JudgedEvent, { number, proposal }: ApprovalState, name: string): Voice | undefined {
  const voice = { by: proposal.proposedBy, onBehalfOf: proposal.proposedFor ?? null };
  const isOfPerson = number > 1 && proposal.isRequest !== true && !isOfVersion1(event);
  return isOfPerson && isBehind(voice, name) ? voice : undefined;
}

/**
 * What ends with this vote. Undefined: its person proposed what is asked, and voted again, where older versions ended the vote
 * alone.
 */
function endedBy(vote: CountedVote, { number, proposal }: ApprovalState): 'proposal' | 'vote' | undefined {
  if (number === 1 || vote.proposal !== number || vote.by !== proposal.proposedBy) return 'vote';
  return vote.at === proposal.proposedAt ? 'proposal' : undefined;
}

function afterWithdrawal1(approval: ApprovalState, at: string): ApprovalState {
  const isBacked = approval.votes.some(({ agrees, proposal }) => agrees && proposal === approval.number);
  return approval.proposal.kind === 'run' || isBacked ? approval : backToLastRun(approval, at);
}

/** Returns whether a deadline is over that ends the responses. With `hold` it only ends the counting. */
function isOver({ proposal }: ApprovalState, at: string): boolean {
  return proposal.expiresAt.some(
    (deadline, index) => hasCome(deadline, at) && proposal.requirements[index]?.onTimeout !== 'hold',
  );
}

/** Hidden values are shown to a person who may answer. */
export function reveal(event: JudgedEvent, call: CallState, approval: ApprovalState): Changed {
  const { revealedBy, revealedAt } = event.data as EventData<'ValuesRevealed'>;
  if (isOver(approval, revealedAt)) return illegal('deadline', 'the deadline of the approval was over');
  const own = [...call.request.requesters, compared(approval.requestedBy)];
  const { fourEyes } = strictest(approval.proposal.requirements);
  return fourEyes && own.includes(compared(revealedBy))
    ? illegal('four-eyes', `${revealedBy} looks at their own request`)
    : approval;
}

/** Reminders are numbered. Several missed ones become one. */
export function remind(event: JudgedEvent, approval: ApprovalState): Changed {
  const { nth } = event.data as EventData<'ApproversReminded'>;
  return nth > approval.reminders
    ? { ...approval, reminders: nth }
    : illegal('approval', `reminder ${String(nth)} follows reminder ${String(approval.reminders)}`);
}

type Escalated = EventData<'ApprovalEscalated'>;

/** A requirement whose deadline has come asks more people, or holds. */
export function escalate(event: JudgedEvent, call: CallState, approval: ApprovalState): Changed {
  const data = event.data as Escalated;
  const { requirement: index, level, to, expiresAt, escalatedAt, endedVotes = [] } = data;
  const { proposal, opened } = approval;
  const requirement = proposal.requirements[index];
  const isDue = requirement !== undefined && hasBecomeDue(proposal.expiresAt[index], escalatedAt, event, call);
  if (!isDue) return illegal('deadline', 'no deadline of this requirement had come');
  if (level !== approval.escalations + 1) return illegal('approval', `level ${String(level)} is not the next one`);
  const broken = notOf(data, requirement, opened.filter((one) => one.requirement === index).length);
  if (broken !== undefined) return broken;
  const unknown = notCounted(endedVotes, approval);
  if (unknown !== undefined) return illegal('vote', `it ends a vote of ${unknown}, who has none`);
  const ended = endedVotes.map(compared);
  const left = { ...approval, votes: approval.votes.filter(({ by }) => !ended.includes(compared(by))) };
  const stage = openStage(left, index);
  // Attack: the deadline moves, and the people whom the rule names next are never asked.
  const asksNobody = requirement.onTimeout === 'escalate' && to.length === 0 && stage < requirement.stages.length;
  if (asksNobody) return illegal('approval', 'it asks nobody more, and the people of its requirement have not agreed');
  return {
    ...left,
    escalations: level,
    opened: [...opened, { requirement: index, stage, to }],
    proposal: { ...proposal, expiresAt: proposal.expiresAt.with(index, expiresAt) },
  };
}

/** The step that a requirement has next: its next level, for no group where its people have agreed, or to hold. */
function notOf(data: Escalated, requirement: Requirement, levels: number): Illegal | undefined {
  const { to, expiresAt, escalatedAt } = data;
  if (requirement.onTimeout === 'hold' && to.length === 0 && expiresAt === null) return undefined;
  const next = requirement.escalation[levels];
  if (requirement.onTimeout !== 'escalate' || next === undefined) {
    return illegal('approval', 'its requirement has no such escalation');
  }
  if (to.length > 0 && JSON.stringify(to) !== JSON.stringify(next.to)) {
    return illegal('approval', 'it asks other groups than its requirement names');
  }
  return isDeadline(expiresAt, requirement, escalatedAt, next.expiresInMs)
    ? undefined
    : illegal('deadline', 'its deadline is not the one of its requirement');
}

/** An approval ends without an answer where a requirement says so: it has no further step when its deadline comes. */
export function expire(event: JudgedEvent, call: CallState, approval: ApprovalState): Changed {
  const { expiredAt } = event.data as EventData<'ApprovalExpired'>;
  const { requirements, expiresAt } = approval.proposal;
  const ends = requirements.some(({ onTimeout, escalation }, index) => {
    if (!hasBecomeDue(expiresAt[index], expiredAt, event, call) || onTimeout === 'hold') return false;
    const levels = approval.opened.filter((one) => one.requirement === index).length;
    return onTimeout !== 'escalate' || levels >= escalation.length;
  });
  return ends ? { ...approval, isPending: false } : illegal('deadline', 'no requirement lets it expire then');
}
