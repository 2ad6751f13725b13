import { comparedIdentity, jcsDigest } from '@countersign/contracts';
import type { ApprovalView, JsonObject, ToolCallView } from '@countersign/contracts';
import { boundBy } from '../results/question.js';
import type { Bound } from '../results/question.js';
import { MappingError, OtherPersonError, OtherSignInError } from './mapping-error.js';
import { otherCallOf } from './other-calls.js';
import type { OtherCall } from './other-calls.js';

/** What an answer is bound to: a question that was put to one person. */
export interface Question {
  /** Another one for each person, and whenever something else is shown, a response is withdrawn, or one of the person ends. */
  readonly questionId: string;
  /** To what a denial is bound: another one only when something else is proposed, or when a response of the person ends. */
  readonly denialId: string;
  /** The principal of the person for whom it was made, as `getMe` of their client has it. */
  readonly person: string;
  readonly proposalDigest: string;
  readonly shownDigest: string;
  readonly shownRevision: number;
  /** Of what the other calls of the step propose, where they run together. Absent: the call is decided alone. */
  readonly shownOthersDigest?: string;
}

/** What a question of another product carries besides the call. */
export interface Shown extends Bound, Question {
  readonly allowedDecisions: ApprovalView['allowedDecisions'];
  /** The decisions that need a reason. */
  readonly requireReason: ApprovalView['allowedDecisions'];
  /** By stage: who has approved or denied, and how many more people must agree. */
  readonly progress: ApprovalView['progress'];
  /** The decision of this person that stands; null: none. They withdraw it before they answer otherwise. */
  readonly answered: ApprovalView['allowedDecisions'][number] | null;
  /** What the call is relative to, such as its folder and its server: a part of what is approved. */
  readonly labels: ApprovalView['labels'];
  /** Whether this person may decide now, and otherwise why not. Absent: it is not known. */
  readonly mayDecide?: ApprovalView['mayDecide'];
  /** The calls that run together or not at all: one prompt asks about them (`promptsOf`). Null: the call is decided alone. */
  readonly together: readonly string[] | null;
  /** The other calls of `together`, which a "yes" may release: show them too (`releasedBy`). Absent: nobody has read them. */
  readonly others?: readonly OtherCall[];
}

/** The members of an approval that its question is made of. */
export type Asking = Pick<
  ApprovalView,
  | 'allowedDecisions'
  | 'approvalId'
  | 'batch'
  | 'labels'
  | 'progress'
  | 'responses'
  | 'shownDigest'
  | 'shownOthersDigest'
  | 'shownRevision'
> &
  Partial<Pick<ApprovalView, 'mayDecide'>> &
  Parameters<typeof boundBy>[0] & { readonly requirement: Pick<ApprovalView['requirement'], 'requireReason'> };

/** Returns what the question for a person shows, as a message carries it: without members that are absent. */
export function shownTo(person: string, approval: Asking, others: readonly ToolCallView[] = []): Shown & JsonObject {
  const { allowedDecisions, batch, labels, mayDecide, progress, requirement, responses } = approval;
  const own = responses.find((one) => one.counted && isOf(person, one));
  const shown = {
    ...questionOf(person, approval, others),
    ...boundBy(approval),
    ...{ allowedDecisions, requireReason: requirement.requireReason, progress, labels, mayDecide },
    answered: own?.decision.type ?? null,
    together: batch?.mode === 'all-or-nothing' && batch.callIds.length > 1 ? batch.callIds : null,
    ...(others.length > 0 && { others: others.map(otherCallOf) }),
  };
  return JSON.parse(JSON.stringify(shown)) as Shown & JsonObject;
}

/** The question that is put to a person now. */
export function questionOf(
  person: string,
  approval: Omit<Asking, 'requirement'>,
  others: readonly ToolCallView[] = [],
): Question {
  const { proposal, shownDigest, shownRevision, shownOthersDigest } = approval;
  const ids = { questionId: questionIdOf(person, approval, others), denialId: denialIdOf(person, approval) };
  const bound = { person, proposalDigest: proposal.digest, shownDigest, shownRevision };
  return { ...ids, ...bound, ...(shownOthersDigest !== undefined && { shownOthersDigest }) };
}

/** A response or an instruction of somebody. */
interface Said {
  readonly respondedBy: string;
}

/** Whether it is of this person, in whatever spelling of their name. */
export function isOf(person: string, { respondedBy }: Said): boolean {
  return isSamePerson(person, respondedBy);
}

function isSamePerson(one: string, other: string): boolean {
  return comparedIdentity(one) === comparedIdentity(other);
}

/**
 * Attack: an answer that decided nothing is read again after a vote or an instruction was withdrawn, or after the person's own vote was
 * lost, so that the same is asked as before. The revision of what is shown and the ended responses of the person never come back.
 * Attack: somebody edits another call of the step, and the "yes" to what was shown before releases it.
 */
export function questionIdOf(
  person: string,
  { approvalId, responses, shownDigest, shownRevision, shownOthersDigest }: Omit<Asking, 'requirement'>,
  others: readonly ToolCallView[] = [],
): string {
  const own = [approvalId, comparedIdentity(person), shownDigest, shownRevision, endedOf(person, responses)];
  const bound = shownOthersDigest === undefined ? own : [...own, shownOthersDigest];
  return jcsDigest([...bound, ...others.map((call) => otherCallOf(call).proposalDigest)]);
}

/**
 * Attack: somebody votes and withdraws, so that each "no" under way is to an earlier question, and silence approves. A denial
 * only restricts: what others did about the same proposal does not make it an old one.
 */
export function denialIdOf(
  person: string,
  { approvalId, proposal, responses }: Pick<Asking, 'approvalId' | 'proposal' | 'responses'>,
): string {
  return jcsDigest([approvalId, comparedIdentity(person), proposal.digest, endedOf(person, responses)]);
}

function endedOf(person: string, responses: Asking['responses']): number {
  return responses.filter((one) => !one.counted && isOf(person, one)).length;
}

/** Who answers. */
export interface Answering {
  /** The principal of the person who is signed in, and in whose name the answer is sent. */
  readonly person: string;
  /** The id of this sign-in at your application. Each sign-in has another one, and so has each second factor that is added. */
  readonly signIn: string;
  /**
   * The principal of the session that sent the message or the event: as your application recorded it when it came in, and never from
   * anything that the client sent.
   */
  readonly sentBy: string;
  /** The sign-in of that session, recorded like `sentBy`. */
  readonly sentIn: string;
}

/**
 * Attack: one person clicks on the question of another one, which both see, and the click is passed on in the other one's name.
 * @throws OtherPersonError when another person sent it, or when nobody recorded who did.
 */
export function checkSender({ person, sentBy }: Pick<Answering, 'person' | 'sentBy'>, what: string): void {
  if (typeof sentBy === 'string' && sentBy !== '' && isSamePerson(sentBy, person)) return;
  const sender = typeof sentBy === 'string' && sentBy !== '' ? JSON.stringify(sentBy) : 'a person who was not recorded';
  throw new OtherPersonError(`${what} was sent by ${sender}, not by ${JSON.stringify(person)}`);
}

/**
 * Attack: a "yes" that was refused for the low assurance of its session is read again after a second factor, or is heard by the window of
 * another session of the same person. A "no" only restricts, and counts from each of them.
 * @throws OtherSignInError when it was given in another sign-in, or when nobody recorded in which.
 */
export function checkSignIn({ signIn, sentIn }: Pick<Answering, 'sentIn' | 'signIn'>, what: string): void {
  if (typeof signIn === 'string' && signIn !== '' && signIn === sentIn) return;
  throw new OtherSignInError(
    `${what} was given in another sign-in: show the question, and let the person answer again`,
  );
}

/** Whether the person who is signed in sent it, and was asked. */
export function isOwn({ person, sentBy }: Pick<Answering, 'person' | 'sentBy'>, madeFor: unknown): boolean {
  return [sentBy, madeFor].every((one) => typeof one === 'string' && one !== '' && isSamePerson(one, person));
}

/**
 * Attack: the answer of one person is passed on by the client of another one, in a chat or on a bus that they share.
 * @param madeFor whom the question names.
 * @throws OtherPersonError when it is another person, MappingError when it names none.
 */
export function checkPerson(madeFor: unknown, person: string, question: string): void {
  if (typeof madeFor !== 'string' || madeFor === '') {
    throw new MappingError(`${question} does not say for whom it was made: ask again with the principal of the person`);
  }
  if (!isSamePerson(madeFor, person)) {
    throw new OtherPersonError(
      `${question} was made for ${JSON.stringify(madeFor)}, not for ${JSON.stringify(person)}`,
    );
  }
}
