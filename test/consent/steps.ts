import { must, takeOver } from './book.ts';
import type { Batch, Book, Call } from './book.ts';
import type { Grants } from './grants.ts';
import { together } from './joint.ts';
import type { Questions } from './questions.ts';
import type { QuotaCheck } from './quotas.ts';
import type { Answer, AskedCall, Request, Rule } from './words.ts';
import { runOf } from './world.ts';

/** What is decided about a new call: people are asked by a rule, it is blocked, or a grant or the policy allows it. */
type Decided = { readonly call: Call } & (
  | { readonly as: 'ask'; readonly rule: Rule }
  | { readonly as: 'block' }
  | { readonly as: 'allow'; readonly grant: number | null }
);

const asksAll = ({ outcome, batch }: Rule): boolean => outcome === undefined && batch === 'any-asks-all';

/** The requests of agents, each with the calls of one step. */
export class Steps {
  readonly #book: Book;
  readonly #grants: Grants;
  readonly #quotas: QuotaCheck;
  readonly #questions: Questions;

  constructor(book: Book, grants: Grants, quotas: QuotaCheck, questions: Questions) {
    this.#book = book;
    this.#grants = grants;
    this.#quotas = quotas;
    this.#questions = questions;
  }

  request(command: Request, answer: Answer): void {
    const { calls, by, as } = command;
    const known = calls.flatMap(({ call }) => this.#book.calls.get(call) ?? []);
    if (answer.refused !== null) {
      this.#refused(command, known, answer.refused);
      return takeOver(this.#book, answer);
    }
    must(as === by || by === 'other', 14, `${by} requested a call for ${as}`);
    for (const call of known) {
      const asked = calls.find((one) => one.call === call.id);
      must(call.by === by, 14, `${by} requested the call of ${call.by} again`);
      must(
        asked?.amount === call.amount && asked.secret === call.secret,
        15,
        `a repeat of call ${String(call.id)} with other arguments was taken for the same`,
      );
    }
    const fresh = calls.filter(({ call }) => !this.#book.calls.has(call));
    const batch = this.#batchOf(command, fresh);
    const added = fresh.map((one) => this.#added(command, one, batch));
    const decided = this.#decided(added);
    this.#quotas.asked(decided.flatMap(({ as: outcome, call }) => (outcome === 'ask' ? [call] : [])));
    for (const one of decided) this.#recorded(command, one, answer);
    takeOver(this.#book, answer, new Map(added.map(({ id, state }) => [id, [state]])));
  }

  /** Small calls of a step in which a rule asks about all are asked about by it as well; a grant counts for none of them. */
  #decided(added: readonly Call[]): readonly Decided[] {
    const own = added.map((call): Decided => {
      const rule = this.#book.ruleOf(call.amount);
      if (rule.outcome === 'block') return { call, as: 'block' };
      if (rule.outcome === 'allow') return { call, as: 'allow', grant: null };
      const grant = this.#grants.covering(call);
      if (grant === null) return { call, as: 'ask', rule };
      this.#grants.use(grant, call);
      return { call, as: 'allow', grant };
    });
    const [first, ...others] = own.flatMap((one) => (one.as === 'ask' && asksAll(one.rule) ? [one.rule] : []));
    if (first === undefined) return own;
    return own.map((one) => {
      if (one.as !== 'allow') return one;
      const { call, grant } = one;
      if (grant === null) return { call, as: 'ask', rule: together([first, ...others]) };
      this.#grants.leave(grant, call);
      return { call, as: 'ask', rule: this.#book.ruleOf(call.amount) };
    });
  }

  /** Records a new call as it was decided. */
  #recorded(command: Request, decided: Decided, answer: Answer): void {
    const { call } = decided;
    const shown = answer.calls.get(call.id);
    must(shown !== undefined, 1, 'a call that was requested is not shown');
    if (decided.as !== 'block' && call.batch === null && this.#isInTurn(command)) this.#book.queue(call);
    this.#book.calls.set(call.id, call);
    if (shown.state === 'allowed') {
      must(!this.#grants.guesses(shown.grant), 12, 'a grant for a guess at a hidden value covers a call');
      must(!this.#grants.isOfAnother(shown.grant, call), 14, "a grant for another principal's calls covers a call");
    }
    switch (decided.as) {
      case 'block':
        call.state = 'blocked';
        return;
      case 'ask':
        return this.#questions.asked(call, decided.rule, command.expiresIn);
      case 'allow':
        call.state = call.turn === null ? 'allowed' : 'awaiting_approval';
        if (call.turn !== null) call.turn.grant = decided.grant;
        if (shown.state === 'allowed')
          must(
            shown.grant === decided.grant,
            9,
            `allowed by grant ${String(shown.grant)} in place of ${String(decided.grant)}`,
          );
    }
  }

  /** All of them run, or none: the agent or a rule says so. */
  #batchOf({ batch: name, by, calls }: Request, fresh: readonly AskedCall[]): Batch | null {
    const isByRule = fresh.length > 1 && calls.some(({ amount }) => asksAll(this.#book.ruleOf(amount)));
    const members = name === null ? fresh : calls;
    const [first] = members;
    if (first === undefined || (name === null && !isByRule)) return null;
    return { name, by, run: runOf(first.call), members: members.map(({ call }) => call), hasBegun: false };
  }

  /** One after another: the agent or a rule says so. What runs all or not at all has no turns. */
  #isInTurn({ inTurn, calls }: Request): boolean {
    const rules = calls.map(({ amount }) => this.#book.ruleOf(amount));
    const isByRule = rules.some(({ outcome, batch: mode }) => outcome === undefined && mode === 'sequential');
    return inTurn || isByRule;
  }

  #added({ by, as, onBehalfOf }: Request, { call: id, amount, secret, inside }: AskedCall, batch: Batch | null): Call {
    must(!this.#book.isInsideCancelled({ inside, by }), 1, 'a call was requested inside one that was cancelled');
    const nothing = { turn: null, rounds: [], approved: null, claims: [], isErased: false };
    return { ...{ id, amount, secret, by, as, onBehalfOf, inside, batch, ...nothing }, state: 'awaiting_approval' };
  }

  /** Every refusal of a request needs a cause, and no other principal is one (law 14). */
  #refused({ calls, by, as, batch, onBehalfOf }: Request, known: readonly Call[], code: string): void {
    const outer = calls.flatMap(({ inside }) => (inside === null ? [] : [this.#book.calls.get(inside)]));
    switch (code) {
      case 'too-many-requests':
      case 'already-pending': {
        const fresh = calls.filter(({ call }) => !this.#book.calls.has(call));
        return this.#quotas.refused(
          code,
          fresh.map((one) => ({ ...one, id: one.call, by, as })),
        );
      }
      case 'tool-call-mismatch':
        return must(known.length > 0, 14, 'a new call was taken for another one');
      case 'no-approver-left':
        return must(onBehalfOf !== null || outer.length > 0, 4, 'no approver is left, and the agent named no person');
      case 'already-settled':
        return must(
          calls.some(({ inside }) => this.#book.isInsideCancelled({ inside, by })),
          1,
          'refused, and no call around it was cancelled',
        );
      case 'forbidden':
        return must(as !== by && by !== 'other', 14, `${by} may not speak for itself`);
      case 'invalid-request': {
        const ofBatch = [...this.#book.calls.values()].filter((one) => one.batch?.name === batch && one.by === by);
        const isSplit = batch !== null && ofBatch.some((one) => !calls.some(({ call }) => call === one.id));
        const isUnknown = outer.includes(undefined) || calls.some(({ call, inside }) => call === inside);
        return must(isSplit || isUnknown, 14, 'refused for what another principal requested');
      }
      default:
        must(false, 1, `a request was refused with ${code}`);
    }
  }
}
