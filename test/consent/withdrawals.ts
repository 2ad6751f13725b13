import { isWaiting, must, takeOver } from './book.ts';
import type { Book, Call, Proposal, Round } from './book.ts';
import { folded } from './front-end.ts';
import type { Seats, Voice } from './seats.ts';
import type { Answer, Command } from './words.ts';
import { isOfDesk } from './world.ts';

type Of<Type extends Command['type']> = Extract<Command, { type: Type }>;

/** Votes that people take back, and those of people who have left the front end. */
export class Withdrawals {
  readonly #book: Book;
  readonly #seats: Seats;

  constructor(book: Book, seats: Seats) {
    this.#book = book;
    this.#seats = seats;
  }

  withdraw({ call: id, by }: Of<'withdraw'>, answer: Answer): void {
    const call = this.#book.calls.get(id);
    // A front end takes back what it passed on itself.
    const isOwn = (voice: Voice): boolean =>
      isOfDesk(by) ? isUnder(by, voice) : this.#seats.isOfSame(voice, { by, inPlaceOf: null });
    if (answer.refused === 'unknown-approval' && call?.state === 'awaiting_approval')
      must(!isProposed(call, isOwn), 2, `${by} proposed what is asked, and cannot take it back`);
    if (answer.refused !== null || call === undefined || isWaiting(call)) return takeOver(this.#book, answer);
    must(!this.#seats.isRemoved(by), 8, `${by} was removed, and withdrew`);
    this.#takenBack(call, isOwn, answer);
    takeOver(this.#book, answer, new Map([[id, [call.state]]]));
  }

  /** Law 8: what people of a front end said ends with them. What they said under other names stays. */
  endPerson({ person, by }: Of<'end-person'>, answer: Answer): void {
    const isGone = by === 'desk' && !this.#seats.desk.isOpen;
    must(isGone === (answer.refused !== null), 8, `the end of ${person} came to ${String(answer.refused)}`);
    const isMeant = (voice: Voice): boolean => !isGone && isUnder(person, voice);
    for (const call of this.#book.calls.values()) this.#takenBack(call, isMeant, answer);
    takeOver(this.#book, answer);
  }

  #takenBack(call: Call, isMeant: (voice: Voice) => boolean, answer: Answer): void {
    const round = call.rounds.at(-1);
    const current = round?.proposals.at(-1);
    if (round === undefined || current === undefined || call.state !== 'awaiting_approval') return;
    const ended = current.votes.filter(isMeant);
    current.votes = current.votes.filter((vote) => !ended.includes(vote));
    const { by, inPlaceOf } = current;
    if (by === null) return;
    // Law 2: also where the vote that proposed it was lost before.
    const isProposers = isMeant({ by, inPlaceOf }) || ended.some((vote) => folded(vote.by) === folded(by));
    // One who shares a delegator with its person takes back a vote: both readings of law 2 hold.
    const mayBeProposers = ended.some((vote) => this.#seats.isOfSame(vote, { by, inPlaceOf }));
    const isNext = answer.calls.get(call.id)?.approval?.proposal === round.proposals.length + 1;
    if (isProposers || (mayBeProposers && isNext)) endProposal(round, current, this.#book.now);
  }
}

/** Whether one of those who are meant proposed what is asked now. */
function isProposed(call: Call, isMeant: (voice: Voice) => boolean): boolean {
  const { by = null, inPlaceOf = null } = call.rounds.at(-1)?.proposals.at(-1) ?? {};
  return by !== null && isMeant({ by, inPlaceOf });
}

/** Whether a vote was given under this very name, or in its place. */
function isUnder(name: string, { by, inPlaceOf }: Voice): boolean {
  return folded(by) === folded(name) || (inPlaceOf !== null && folded(inPlaceOf) === folded(name));
}

/** Law 2: people are asked about the agent's request again. Denials remain. */
function endProposal(round: Round, ended: Proposal, now: number): void {
  const first = round.proposals[0];
  must(first !== undefined, 2, 'a round has the request as its first proposal');
  const votes = ended.votes.filter(({ agrees }) => !agrees);
  round.proposals.push({ ...first, by: null, inPlaceOf: null, at: now, votes, escalated: new Map() });
}
