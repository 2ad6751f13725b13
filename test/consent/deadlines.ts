import { isOpen, isWaiting, must, takeOver } from './book.ts';
import type { Book, Call, Proposal, Round } from './book.ts';
import { instructed } from './votes.ts';
import { mayRunAgain } from './world.ts';
import type { Seats } from './seats.ts';
import type { Answer, Rule, Shown } from './words.ts';

/** What the clock brings. */
export class Deadlines {
  readonly #book: Book;

  readonly #seats: Seats;

  constructor(book: Book, seats: Seats) {
    this.#book = book;
    this.#seats = seats;
  }

  passed(answer: Answer): void {
    const expected = new Map<number, readonly string[]>();
    for (const [id, call] of this.#book.calls) {
      const shown = answer.calls.get(id);
      must(shown !== undefined, 1, 'a call vanished');
      // It ended with its batch.
      if (shown.state === 'cancelled' && isOpen(call.state)) continue;
      if (isWaiting(call)) continue;
      if (call.state === 'awaiting_approval') expected.set(id, this.#ends(call, shown));
      else if (call.state === 'approved') expected.set(id, ['approved', 'expired']);
      else if (call.state === 'executing') {
        // What may not run twice is not tried again by itself.
        const after = call.approved === null ? 'allowed' : 'approved';
        expected.set(id, ['executing', mayRunAgain(id) ? after : 'unknown']);
      }
    }
    takeOver(this.#book, answer, expected);
  }

  #ends(call: Call, shown: Shown): readonly string[] {
    const round = call.rounds.at(-1);
    const proposal = round?.proposals.at(-1);
    must(round !== undefined && proposal !== undefined, 1, 'an approval has a proposal');
    for (const rule of proposal.rules) this.#escalates(proposal, round, rule);
    if (shown.state === 'approved') this.#silence(call, round, proposal);
    else if (shown.state === 'expired') {
      must(
        proposal.rules.some((rule) => this.#mayEnd(round, rule)),
        4,
        'it expired before any deadline that denies',
      );
      round.end = { as: 'other', at: this.#book.now };
    } else {
      must(
        !proposal.rules.some((rule) => this.#mustEnd(proposal, rule)),
        3,
        'a deadline that denies is over, and it waits',
      );
    }
    if (shown.state === 'approved') instructed(call, shown.instruction);
    return ['awaiting_approval', 'expired', 'approved'];
  }

  /** A shorter time of the agent counts only where every end that follows is a denial (law 4). */
  #timeOf(rule: Rule, round: Round): number {
    return rule.atEnd === 'deny' ? Math.min(rule.expiresIn, round.expiresIn ?? rule.expiresIn) : rule.expiresIn;
  }

  #escalates(proposal: Proposal, round: Round, rule: Rule): void {
    if (rule.atEnd !== 'escalate' || proposal.escalated.has(rule.id)) return;
    const from = Math.min(round.askedAt, proposal.at) + this.#timeOf(rule, round);
    if (this.#book.now >= from) proposal.escalated.set(rule.id, this.#book.now);
  }

  #mayEnd(round: Round, rule: Rule): boolean {
    if (rule.atEnd === 'hold') return false;
    const extra = rule.atEnd === 'escalate' ? (rule.escalation?.expiresIn ?? 0) : 0;
    return this.#book.now >= round.askedAt + this.#timeOf(rule, round) + extra;
  }

  /** The latest reading of the laws: each requirement's time begins with its proposal. */
  #mustEnd(proposal: Proposal, rule: Rule): boolean {
    return rule.atEnd === 'deny' && this.#book.now >= proposal.at + rule.expiresIn;
  }

  /** Law 5: silence approves the first round of an undisputed request, below high risk, where people could object. */
  #silence(call: Call, round: Round, proposal: Proposal): void {
    const isSilent = proposal.rules.every(
      (rule) => rule.atEnd === 'allow' && !rule.isHigh && this.#book.now >= round.askedAt + rule.expiresIn,
    );
    must(isSilent, 5, 'approved by silence, and a rule does not say so');
    must(
      call.rounds.length === 1 && !round.isDisputed,
      5,
      'silence approved what a person objected to, edited or answered, or a later round',
    );
    must(
      round.askedAt >= this.#book.stoppedUntil,
      5,
      'silence approved although people could not respond all the time',
    );
    const couldDecide = proposal.rules.every((rule) => this.#seats.couldDecide(call, rule));
    must(couldDecide, 5, 'silence approved what too few people could decide about');
    call.approved = { amount: call.amount, secret: call.secret, instructions: [] };
    round.end = { as: proposal.votes.length > 0 ? 'person' : 'other', at: this.#book.now };
  }
}
