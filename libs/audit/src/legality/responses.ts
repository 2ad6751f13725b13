import { isBlank } from '@countersign/contracts';
import type { ApprovalState, CallState, CountedVote } from './call-state.js';
import { digestOf, digestOfAction } from './digests.js';
import { illegal, isOfVersion1, isSealedAt } from './judged-event.js';
import type { Illegal, JudgedEvent, Unproven } from './judged-event.js';
import { compared, folded, isBehind, isFoldedVoice, isSameVoice, notCounted, peopleOf } from './names.js';
import {
  digestOfProposal,
  isProposalHidden,
  numberOf,
  numbersOf,
  proposalOf,
  strictest,
  withProposal,
} from './proposal.js';
import type { Response } from './proposal.js';
import { couldBeDenied, isDeniedForSure, isOneStage, isSatisfied, mayVote, openStage } from './seats.js';
import { textDigest } from './shown-card.js';
import { isDeadline } from './questions.js';
import { judgeSignature } from './signatures.js';
import type { KnownStreams } from './streams.js';
import { hasBecomeDue, hasCome, isPastEnd, storedAfter } from './times.js';

/** One response in its context. `after` is the approval with it. */
interface Answered {
  /** A name whose vote it ends, and that has none. */
  readonly unknown: string | undefined;
  readonly event: JudgedEvent;
  readonly response: Response;
  readonly call: CallState;
  readonly before: ApprovalState;
  readonly after: ApprovalState;
  readonly vote: CountedVote;
}

/** Judges a response to a pending approval. */
export function judgeResponse(
  event: JudgedEvent,
  call: CallState,
  approval: ApprovalState,
  streams: KnownStreams,
): { readonly illegal: Illegal | undefined; readonly unproven: readonly Unproven[]; readonly after: ApprovalState } {
  const response = event.data as Response;
  const answered = answeredBy(event, response, call, approval);
  const rules = response.automatic ? silenceRules : personRules;
  const broken = rules.map((rule) => rule(answered)).find((one) => one !== undefined);
  if (broken !== undefined || response.signature === undefined) {
    return { illegal: broken, unproven: unprovenOf(answered), after: answered.after };
  }
  const signed = judgeSignature(event, response.signature, {
    ...{ call, asked: approval, counted: answered.before, response, streams },
  });
  return { illegal: signed.illegal, unproven: [...unprovenOf(answered), ...signed.unproven], after: answered.after };
}

function answeredBy(event: JudgedEvent, response: Response, call: CallState, approval: ApprovalState): Answered {
  const ended = (response.endedVotes ?? []).map(compared);
  const before = { ...approval, votes: approval.votes.filter(({ by }) => !ended.includes(compared(by))) };
  const number = numberOf(event, response, before);
  const isNew = number > before.number;
  const next = isNew ? withProposal(before, proposalOf(event, response, before)) : before;
  // In version 1 an escalation opened its seats for all that the approval asked.
  const proposed = isOfVersion1(event) ? { ...next, opened: before.opened } : next;
  const vote: CountedVote = {
    by: response.respondedBy,
    onBehalfOf: response.onBehalfOf,
    groups: response.groups,
    agrees: response.decision.type !== 'deny',
    instruction: textDigest(response.instruction),
    proposal: number,
    stage: openStage(before, 0),
    at: response.respondedAt,
    passkey: response.signature?.credentialId ?? null,
  };
  const votes = [...proposed.votes.filter((one) => !isSameVoice(one, vote)), vote];
  const { type } = response.decision;
  const touch = type === 'approve' ? null : { by: vote.by, as: type, isSame: type !== 'deny' && !isNew };
  const touched = proposed.touched ?? touch;
  const unknown = notCounted(response.endedVotes ?? [], approval);
  return { unknown, event, response, call, before, after: { ...proposed, votes, touched }, vote };
}

type Rule = (answered: Answered) => Illegal | undefined;

const endsVotes: Rule = ({ unknown }) =>
  unknown === undefined ? undefined : illegal('vote', `it ends a vote of ${unknown}, who has none`);

const isInTime: Rule = ({ response: { respondedAt }, before: { proposal } }) => {
  const over = proposal.expiresAt.findIndex(
    (at, index) => hasCome(at, respondedAt) && proposal.requirements[index]?.onTimeout !== 'hold',
  );
  return over === -1 ? undefined : illegal('deadline', `the deadline was over at ${String(proposal.expiresAt[over])}`);
};

/** Attack: what a person proposed in the place of the request is counted as their "yes" to the request. */
const isOfCurrent: Rule = ({ event, response, before, vote }) =>
  isOfVersion1(event) || numbersOf(event, response, before).includes(vote.proposal)
    ? undefined
    : illegal('proposal', `it is about proposal ${String(vote.proposal)}, and ${String(before.number)} was asked`);

const isOfAction: Rule = ({ event, response, call, before }) => {
  const { decision, actionDigest } = response;
  const asked = decision.type === 'answer' ? before.firstDigest : before.proposal.actionDigest;
  if (decision.type !== 'edit') {
    return actionDigest === asked ? undefined : illegal('digest', 'its action digest is not that of what was asked');
  }
  if (isHidden(event)) return undefined;
  const digest = digestOfAction(call.request, decision.arguments, decision.salt);
  return digest === actionDigest
    ? undefined
    : illegal('digest', 'its action digest is not that of the edited arguments');
};

/** Returns whether the arguments of an edit are not there to compute their digest. */
function isHidden(event: JudgedEvent): boolean {
  return isSealedAt(event, '/decision/arguments') || isSealedAt(event, '/decision/salt');
}

const isShown: Rule = ({ response: { shown }, before, call }) => {
  const digest = digestOfProposal(before, call.request.salt);
  if (shown === null || digest === null || shown === digest) return undefined;
  return illegal('proposal', 'the person was shown another proposal than the one that was asked');
};

const isVoter: Rule = ({ response: { groups }, before, after }) =>
  mayVote(before, groups) && mayVote(after, groups)
    ? undefined
    : illegal('vote', `no stage asks a person of the groups ${JSON.stringify(groups)}`);

/** Only a signature gives the assurance `high`, and some rules count nothing else. Whether it holds is judged last. */
const isSigned: Rule = ({ event, response: { signature, assurance }, after }) => {
  if (signature === undefined && strictest(after.proposal.requirements).signed) {
    return illegal('signature', 'it is not signed, and its rule counts signed responses alone');
  }
  const isHigh = assurance === 'high' && !isOfVersion1(event);
  return isHigh === (signature !== undefined)
    ? undefined
    : illegal('signature', 'its assurance is not the one of a response with or without a signature');
};

/** Versions before it compared the assurance of an edit or an answer with what it proposes alone. */
const assuredSince = '2026-11-30T01:03:11.000Z';

/** Attack: who may not approve what is asked answers in its place. A signature has a rule of its own. */
const isAssured: Rule = ({ event, response: { assurance }, before, after }) => {
  const { requirements } = before.proposal;
  const counts = event.recordedAt >= assuredSince && requirements.every(({ minAssurance }) => minAssurance !== 'high');
  return strictest([...(counts ? requirements : []), ...after.proposal.requirements]).trusts(assurance)
    ? undefined
    : illegal('vote', `the assurance ${assurance} is too low`);
};

const isNotRequester: Rule = ({ vote, call, after, before }) => {
  if (!strictest(after.proposal.requirements).fourEyes) return undefined;
  const own = [...call.request.requesters, compared(before.requestedBy)];
  const requester = peopleOf(vote).find((name) => own.includes(compared(name)));
  return requester === undefined ? undefined : illegal('four-eyes', `${requester} answers their own request`);
};

const isFirstVote: Rule = ({ event, vote, before }) => {
  const earlier = before.votes.filter((one) => isSameVoice(one, vote));
  if (earlier.some(({ proposal }) => proposal === vote.proposal)) {
    return illegal('vote', `${vote.by} has a vote for this proposal already`);
  }
  // Attack: a person refuses, the call is edited, and their delegate agrees in their place.
  const replaced = earlier.find((one) => !one.agrees && !isBehind(one, vote.by));
  return replaced === undefined || isOfVersion1(event)
    ? undefined
    : illegal('vote', `${vote.by} replaces the refusal of ${peopleOf(replaced).join(' for ')}`);
};

const isAllowed: Rule = ({ response: { decision, reason }, before, after }) => {
  if (!strictest(before.proposal.requirements).allows(decision.type)) {
    return illegal('vote', `the decision "${decision.type}" is not allowed here`);
  }
  const lacksReason = strictest(after.proposal.requirements).needsReason(decision.type) && isBlank(reason ?? '');
  return lacksReason ? illegal('vote', `the decision "${decision.type}" needs a reason`) : undefined;
};

const isNotBlocked: Rule = ({ response: { decision } }) =>
  decision.type === 'edit' && decision.verdict.outcome === 'block'
    ? illegal('verdict', 'the policy blocks the edited arguments')
    : undefined;

/** Attack: an edit waits for its people longer than their rule says. What waits already keeps its deadline. */
const isClocked: Rule = ({ event, response: { decision, respondedAt }, before }) => {
  const required = decision.type === 'edit' && !isOfVersion1(event) ? decision.requirement : null;
  if (decision.type !== 'edit' || required === null) return undefined;
  const { requirements, expiresAt } = before.proposal;
  const running = requirements.findIndex((one, index) => index > 0 && digestOf(one) === digestOf(required));
  const said = decision.clock?.expiresAt ?? null;
  const isRight =
    running === -1 ? isDeadline(said, required, respondedAt, required.expiresInMs) : said === expiresAt[running];
  return isRight ? undefined : illegal('deadline', 'the deadline of the edit is not the one of its requirement');
};

/** The votes bring the resolution that is recorded. With one stage they bring no other; with several their order matters. */
const isResolved: Rule = ({ event, response: { resolution }, after }) => {
  // In version 1 an edit made one rule of two, which counted its denials itself.
  const isMerged = isOfVersion1(event) && after.proposal.requirements.length > 1;
  const isDenied = !isMerged && isDeniedForSure(after);
  const fits: Readonly<Record<typeof resolution, () => boolean>> = {
    denied: () => couldBeDenied(after),
    approved: () => isSatisfied(after) && !isDenied,
    pending: () => !isDenied && !(isOneStage(after) && isSatisfied(after)),
  };
  return fits[resolution]() ? undefined : illegal('resolution', `it is ${resolution}, which is not what its votes say`);
};

const isExecutableUntil: Rule = ({ response: { resolution, respondedAt, executeBy, endsRun }, after }) => {
  const { executeByMs, endsRun: mayEndRun } = strictest(after.proposal.requirements);
  const isRun = resolution === 'approved' && after.proposal.kind === 'run';
  if (executeBy !== (isRun ? storedAfter(respondedAt, executeByMs) : null)) {
    return illegal('resolution', 'its right to run ends at another time than the requirement says');
  }
  const wasDenied = resolution === 'denied' && mayEndRun;
  if ((endsRun === true) === wasDenied) return undefined;
  return illegal(
    'resolution',
    wasDenied ? 'its rule ends the run, and it does not' : 'no requirement lets it end its run',
  );
};

const personRules: readonly Rule[] = [
  ...[isOfCurrent, isOfAction, isInTime, isShown, isVoter, isSigned, isAssured, isNotRequester, isAllowed],
  ...[endsVotes, isFirstVote, isNotBlocked, isClocked, isResolved, isExecutableUntil],
];

/** Silence approves the untouched first round of a request below high risk, after its deadline, where the policy says so. */
const maySilence: Rule = ({ event, response, call, before }) => {
  const { proposal } = before;
  const [requirement] = proposal.requirements;
  const { decision, respondedAt, resolution } = response;
  if (requirement?.onTimeout !== 'allow') return illegal('silence', 'the policy does not let silence approve');
  if (!hasBecomeDue(proposal.expiresAt[0], respondedAt, event, call))
    return illegal('silence', 'its deadline had not come');
  if (strictest(proposal.requirements).signed) return illegal('silence', 'silence has no signature');
  const isPlain = decision.type === 'approve' && resolution === 'approved';
  // Version 1 let silence approve a later round. That gives no right to run.
  const isFirst = isOfVersion1(event) || (isFirstRequest(before) && requirement.risk !== 'high');
  return isPlain && isFirst
    ? undefined
    : illegal('silence', 'silence approves only an untouched first request below high risk');
};

/** Attack: silence is recorded as the approval of a person, who reads it in no list of those by silence. */
const isOfNobody: Rule = ({ response }) => {
  const { respondedBy, via, assurance, groups, onBehalfOf, instruction, shown } = response;
  const isService = respondedBy === 'policy' && via === 'policy' && assurance === 'low' && groups.length === 0;
  const isOfPerson = (['credential', 'roles', 'vouchedBy', 'respondedByName', 'signature'] as const).some(
    (member) => response[member] !== undefined,
  );
  const saysNothing = onBehalfOf === null && instruction === null && shown === null;
  return isService && saysNothing && !isOfPerson
    ? undefined
    : illegal('silence', 'silence is of no person, and it says what only a person can say');
};

function isFirstRequest({ round, number }: ApprovalState): boolean {
  return round === 1 && number === 1;
}

/** No person objected to the request, edited or answered it. */
const isUntouched: Rule = ({ event, before: { touched } }) =>
  touched === null || isOfVersion1(event) ? undefined : illegal('silence', wordsOf(touched));

const touches = { edit: 'edited', answer: 'answered', deny: 'denied' } as const;

/** An edit to what was asked is one: older versions took it for an approval, so such a log need not be altered. */
function wordsOf({ by, as, isSame }: NonNullable<ApprovalState['touched']>): string {
  const found = `silence approves what ${by} had ${touches[as]}`;
  return isSame ? `${found}, to what was asked already: older versions let it` : found;
}

const silenceRules: readonly Rule[] = [
  ...[isOfNobody, endsVotes, isOfCurrent, isOfAction, isUntouched, maySilence, isExecutableUntil],
];

/** Attack: a second spelling of a name votes once more, or for the request of the first one. */
function isOfFoldedName({ vote, call, before, after }: Answered): boolean {
  const own = [...call.request.requesters, compared(before.requestedBy)].map(folded);
  const isRequester = peopleOf(vote).some((name) => own.includes(folded(name)));
  const hasVoted = before.votes.some((one) => isFoldedVoice(one, vote));
  return hasVoted || (isRequester && strictest(after.proposal.requirements).fourEyes);
}

function unprovenOf(answered: Answered): readonly Unproven[] {
  const { event, response, call, before } = answered;
  const isLate = before.proposal.expiresAt.some(
    (at, index) => before.proposal.requirements[index]?.onTimeout !== 'hold' && isPastEnd(at, event, call),
  );
  const isUnread = isHidden(event) || isSealedAt(event, '/decision/output');
  const isUnseen = response.shown !== null && isProposalHidden(before, call.request.salt);
  return [
    ...(isUnread || isUnseen ? (['sealed-values'] as const) : []),
    ...(!response.automatic && isLate ? (['past-end'] as const) : []),
    ...(response.endedVotes === undefined ? [] : (['ended-votes'] as const)),
    ...(!response.automatic && isOfFoldedName(answered) ? (['folded-names'] as const) : []),
  ];
}
