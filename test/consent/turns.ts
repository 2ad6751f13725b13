import { hasEnded, isWaiting, must } from './book.ts';
import type { Book, Call, Turn } from './book.ts';
import type { Grants } from './grants.ts';
import { anyApprover, together } from './joint.ts';
import type { Questions } from './questions.ts';
import type { Answer, Rule } from './words.ts';
import { runOf } from './world.ts';

type InTurn = Call & { readonly turn: Turn };

const isInTurn = (call: Call): call is InTurn => call.turn !== null;

/** Whether the calls behind this one wait for it no more. */
const isSettled = ({ state }: Call): boolean => hasEnded(state) || ['succeeded', 'failed', 'unknown'].includes(state);

const queueOf = ({ id, by, inside }: Call): string => JSON.stringify([by, runOf(id), inside]);

const strict = (before: Rule, now: Rule): Rule => (now.outcome === undefined ? together([before, now]) : before);

/** Sequential calls: people are asked about the next one, and it can run, when those before it are settled. */
export class Turns {
  readonly #book: Book;
  readonly #grants: Grants;
  readonly #questions: Questions;

  constructor(book: Book, grants: Grants, questions: Questions) {
    this.#book = book;
    this.#grants = grants;
    this.#questions = questions;
  }

  /** Judges whose turn has come, once the states are taken over. */
  check(answer: Answer): void {
    const calls = [...this.#book.calls.values()].filter(isInTurn);
    for (const [, queue] of Map.groupBy(calls, queueOf)) {
      for (const call of queue) if (isSettled(call)) this.#settled(call);
      const open = queue.filter((call) => !isSettled(call)).toSorted((one, other) => one.turn.place - other.turn.place);
      for (const [index, call] of open.entries()) this.#inOrder(call, index === 0, answer);
      const begun = open.filter(({ turn }) => !turn.isWaiting && !turn.isBeside);
      must(
        begun.length <= 1,
        18,
        `calls ${begun.map(({ id }) => id).join(' and ')} of one run have their turn at once`,
      );
    }
  }

  #inOrder(call: InTurn, isFirst: boolean, answer: Answer): void {
    const shown = answer.calls.get(call.id);
    must(shown !== undefined, 1, 'a call vanished');
    if (shown.waits) {
      must(isWaiting(call), 18, `call ${String(call.id)} waits again`);
      return must(!isFirst, 18, `call ${String(call.id)} waits, and no call is before it`);
    }
    if (!isWaiting(call)) return;
    must(isFirst, 18, `call ${String(call.id)} has its turn before those that were requested before it`);
    call.turn.isWaiting = false;
    this.#begins(call);
  }

  /** What was decided with its place holds, and what the policy says now: the stricter of the two. */
  #begins(call: InTurn): void {
    const { question, grant } = call.turn;
    const now = this.#book.ruleOf(call.amount);
    must(now.outcome !== 'block', 1, 'a call that the policy blocks at its turn may go on');
    const rule = question === null ? this.#askedNow(call, now, grant) : strict(question.rule, now);
    if (rule === null) return must(call.state === 'allowed', 1, `a call that is allowed at its turn is ${call.state}`);
    must(call.state === 'awaiting_approval', 1, `a call about which people are to be asked is ${call.state}`);
    if (rule === question?.rule) this.#questions.opened(call, rule, question.expiresIn);
    else this.#questions.asked(call, rule, question?.expiresIn ?? null);
  }

  /** The rule that asks about a call which was allowed; null: none does. */
  #askedNow(call: Call, now: Rule, grant: number | null): Rule | null {
    const asks = now.outcome === undefined ? now : null;
    if (grant === null) return asks;
    return this.#grants.stillCovers(grant, call, asks ?? anyApprover) ? null : (asks ?? anyApprover);
  }

  #settled(call: InTurn): void {
    const isBlocked = call.turn.isWaiting && call.state === 'blocked';
    must(!isBlocked || this.#book.ruleOf(call.amount).outcome === 'block', 1, 'blocked, and no rule says so');
    call.turn.isWaiting = false;
    call.turn.isBeside = false;
  }
}
