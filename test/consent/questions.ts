import { isReadable } from './votes.ts';
import { isWaiting, must, takeOver } from './book.ts';
import type { Book, Call, Proposal } from './book.ts';
import type { QuotaCheck } from './quotas.ts';
import type { Seats } from './seats.ts';
import { anyApprover } from './joint.ts';
import type { Answer, Command, Rule } from './words.ts';

type Ask = Extract<Command, { type: 'ask' }>;

/** The rounds of questions to people. */
export class Questions {
  readonly #book: Book;
  readonly #seats: Seats;
  readonly #quotas: QuotaCheck;

  constructor(book: Book, seats: Seats, quotas: QuotaCheck) {
    this.#book = book;
    this.#seats = seats;
    this.#quotas = quotas;
  }

  /** People are asked about a call by this rule, from now on. */
  opened(call: Call, rule: Rule, expiresIn: number | null): void {
    const { now } = this.#book;
    const content = { kind: 'run', amount: call.amount, secret: call.secret } as const;
    const proposal: Proposal = {
      content,
      rules: [rule],
      by: null,
      inPlaceOf: null,
      ...{ at: now, votes: [], escalated: new Map() },
    };
    this.#book.rounds += 1;
    call.rounds.push({
      ...{ nth: this.#book.rounds, askedAt: now, expiresIn, isDisputed: false, proposals: [proposal], end: null },
      ...{ responded: new Set(), responses: 0, letters: 0 },
    });
    call.approved = null;
  }

  /** People are asked about a call by this rule, now or at its turn. */
  asked(call: Call, rule: Rule, expiresIn: number | null): void {
    this.#seats.leavesApprovers(call, [rule]);
    if (call.turn?.isWaiting === true) call.turn.question = { rule, expiresIn };
    else this.opened(call, rule, expiresIn);
  }

  ask({ call: id, by, expiresIn }: Ask, answer: Answer): void {
    const call = this.#book.calls.get(id);
    if (call === undefined) return takeOver(this.#book, answer);
    const rule = this.#book.ruleOf(call.amount);
    if (answer.refused === 'blocked-by-policy') {
      must(rule.outcome === 'block', 1, 'blocked, and no rule says so');
      return takeOver(this.#book, answer, new Map([[id, ['blocked', call.state]]]));
    }
    if (answer.refused !== null) {
      if (answer.refused === 'too-many-requests' || answer.refused === 'already-pending')
        if (call.state !== 'awaiting_approval') this.#quotas.refused(answer.refused, [call]);
      return takeOver(this.#book, answer);
    }
    must(call.by === by, 14, `${by} asked about the call of ${call.by}`);
    must(rule.outcome !== 'block', 1, 'people are asked about what the policy blocks');
    const isAllowedAtTurn = isWaiting(call) && call.turn?.question === null;
    must(
      ['expired', 'allowed'].includes(call.state) || isAllowedAtTurn,
      1,
      `a call that is ${call.state} was asked about again`,
    );
    must(isReadable(call), 1, 'people are asked about values that are erased');
    must(!this.#book.isInsideCancelled(call), 1, 'people are asked about a call inside one that was cancelled');
    must(call.batch?.hasBegun !== true, 1, 'people are asked about a call whose batch runs');
    must(call.rounds.length < 16, 13, 'a 17th round');
    this.#quotas.asked([call]);
    // Its turn is over, so it goes to the end.
    if (call.turn !== null && call.state === 'expired') this.#book.queue(call);
    this.asked(call, rule.outcome === 'allow' ? anyApprover : rule, expiresIn);
    takeOver(this.#book, answer, new Map([[id, ['awaiting_approval']]]));
  }
}
