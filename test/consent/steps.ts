import { isWaiting, must, takeOver } from './book.ts';
import type { Batch, Book, Call } from './book.ts';
import type { Grants } from './grants.ts';
import { anyApprover, together } from './joint.ts';
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

/** A batch of one call binds it to nothing. */
const isAlone = ({ batch }: Call): boolean => batch === null || batch.members.length < 2;

const asksAll = ({ outcome, batch }: Rule): boolean => outcome === undefined && batch === 'any-asks-all';

/** Whether a repeat asks people about a recorded call that was allowed, and never claimed. */
function isStricter({ wants }: Request, call: Call): boolean {
  const isAllowed = isWaiting(call) ? call.turn?.question === null : call.state === 'allowed';
  return wants && !call.wants && isAllowed && call.claims.length === 0;
}

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
        asked?.amount === call.amount && asked.secret === call.secret && (asked.tool ?? 'pay') === call.tool,
        15,
        `a repeat of call ${String(call.id)} with other arguments was taken for the same`,
      );
    }
    const fresh = calls.filter(({ call }) => !this.#book.calls.has(call));
    const batch = this.#batchOf(command, fresh);
    const added = fresh.map((one) => this.#added(command, one, batch));
    const decided = this.#decided(added);
    const stricter = known.filter((call) => isStricter(command, call));
    const again = stricter.map((call) => [call, this.#wanted(call)] as const);
    const asked = again.flatMap(([call, rule]) => (rule === null ? [] : [call]));
    this.#quotas.asked([...asked, ...decided.flatMap(({ as: outcome, call }) => (outcome === 'ask' ? [call] : []))]);
    for (const one of decided) this.#recorded(command, one, answer);
    for (const [call, rule] of again) if (rule !== null) this.#questions.asked(call, rule, command.expiresIn);
    const states = again.map(([{ id }, rule]) => [id, [rule === null ? 'blocked' : 'awaiting_approval']] as const);
    takeOver(this.#book, answer, new Map([...added.map(({ id, state }) => [id, [state]] as const), ...states]));
  }

  /** The rule by which people are asked about a call that its agent wants asked about; null: the policy blocks it now. */
  #wanted(call: Call): Rule | null {
    must(call.batch?.hasBegun !== true, 1, 'people are asked about a call whose batch runs');
    must(call.rounds.length < 16, 13, 'a 17th round');
    const rule = this.#book.ruleOf(call.amount);
    if (rule.outcome === 'block') return null;
    return rule.outcome === 'allow' ? anyApprover : rule;
  }

  /** Small calls of a step in which a rule asks about all are asked about by it as well; a grant counts for none of them. */
  #decided(added: readonly Call[]): readonly Decided[] {
    const own = added.map((call): Decided => {
      const rule = this.#book.ruleOf(call.amount);
      if (rule.outcome === 'block') return { call, as: 'block' };
      if (rule.outcome === 'allow' && !call.wants) return { call, as: 'allow', grant: null };
      const asking = rule.outcome === 'allow' ? anyApprover : rule;
      const grant = this.#grants.covering(call, asking);
      if (grant === null) return { call, as: 'ask', rule: asking };
      this.#grants.use(grant, call);
      return { call, as: 'allow', grant };
    });
    const [first, ...others] = own.flatMap((one) => (one.as === 'ask' && asksAll(one.rule) ? [one.rule] : []));
    if (first === undefined) return own;
    return own.map((one) => {
      const { call } = one;
      const rule = this.#book.ruleOf(call.amount);
      if (one.as === 'allow' && one.grant !== null) this.#grants.leave(one.grant, call);
      if (one.as === 'block' || rule.outcome === undefined) return one.as === 'allow' ? { call, as: 'ask', rule } : one;
      return { call, as: 'ask', rule: together([first, ...others, ...(call.wants ? [anyApprover] : [])]) };
    });
  }

  /** Records a new call as it was decided. */
  #recorded(command: Request, decided: Decided, answer: Answer): void {
    const { call } = decided;
    const shown = answer.calls.get(call.id);
    must(shown !== undefined, 1, 'a call that was requested is not shown');
    if (decided.as !== 'block' && isAlone(call) && this.#isInTurn(command)) this.#book.queue(call);
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
  #isInTurn({ inTurn, batch, calls }: Request): boolean {
    const rules = calls.map(({ amount }) => this.#book.ruleOf(amount));
    const isByRule = rules.some(({ outcome, batch: mode }) => outcome === undefined && mode === 'sequential');
    return (inTurn && batch === null) || isByRule;
  }

  #added(
    { by, as, onBehalfOf, wants }: Request,
    { call: id, amount, secret, inside, tool = 'pay' }: AskedCall,
    batch: Batch | null,
  ): Call {
    must(!this.#book.isInsideCancelled({ inside, by }), 1, 'a call was requested inside one that was cancelled');
    const nothing = { turn: null, rounds: [], approved: null, claims: [], isErased: false };
    return {
      ...{ id, amount, secret, tool, wants, by, as, onBehalfOf, inside, batch, ...nothing },
      state: 'awaiting_approval',
    };
  }

  /** Every refusal of a request needs a cause, and no other principal is one (law 14). */
  #refused(command: Request, known: readonly Call[], code: string): void {
    const { calls, by, as, batch, onBehalfOf } = command;
    const outer = calls.flatMap(({ inside }) => (inside === null ? [] : [this.#book.calls.get(inside)]));
    switch (code) {
      case 'too-many-requests':
      case 'already-pending': {
        const fresh = calls.filter(({ call }) => !this.#book.calls.has(call));
        const questions = fresh.map(({ tool = 'pay', ...one }) => ({ ...one, tool, id: one.call, by, as }));
        return this.#quotas.refused(code, [...questions, ...known.filter((call) => isStricter(command, call))]);
      }
      case 'batch-begun':
        return must(
          known.some((call) => isStricter(command, call) && call.batch?.hasBegun === true),
          1,
          'no batch of the request runs',
        );
      case 'too-many':
        return must(
          known.some((call) => isStricter(command, call) && call.rounds.length >= 16),
          13,
          'people were not asked 16 times',
        );
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
