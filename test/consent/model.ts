import { Book, hasEnded, hasSecrets, isCancellable, isOpen, must, takeOver } from './book.ts';
import type { Batch, Call, Proposal } from './book.ts';
import { Deadlines } from './deadlines.ts';
import { Grants } from './grants.ts';
import { QuotaCheck } from './quotas.ts';
import type { Question } from './quotas.ts';
import type { Deciders } from './subject.ts';
import { Seats } from './seats.ts';
import { instructed, isReadable, Votes } from './votes.ts';
import type { Answer, AskedCall, Command, Delegation, People, Policy, Request, Shown } from './words.ts';
import { runOf } from './world.ts';

type Of<Type extends Command['type']> = Extract<Command, { type: Type }>;

/**
 * The laws of consent as a model. It knows people, rules, proposals, grants, quotas, batches and time, and nothing of the
 * product. Where the laws leave a choice it takes what the product did; otherwise it says what must or must not happen.
 */
export class ConsentModel {
  readonly #book: Book;
  readonly #seats: Seats;
  readonly #grants: Grants;
  readonly #quotas: QuotaCheck;
  readonly #votes: Votes;
  readonly #deadlines: Deadlines;

  constructor(people: People, delegations: readonly Delegation[], policy: Policy) {
    this.#book = new Book(policy);
    this.#seats = new Seats(this.#book, people, delegations);
    this.#grants = new Grants(this.#book, this.#seats);
    this.#quotas = new QuotaCheck(this.#book);
    this.#votes = new Votes(this.#book, this.#seats, this.#grants);
    this.#deadlines = new Deadlines(this.#book, this.#seats);
  }

  /** Judges the product's answer to a command, and takes over what it did. Throws `Broken`. */
  step(command: Command, answer: Answer): void {
    this.#judge(command, answer);
    for (const [id, call] of this.#book.calls) {
      const shown = answer.calls.get(id);
      if (shown !== undefined) this.#shows(call, shown);
    }
    this.#grants.check(answer);
    must(answer.leaked === null, 12, `a person was shown ${String(answer.leaked)}`);
  }

  /** Judges who is shown that they may decide about the calls. Throws `Broken`. */
  mayDecide(deciders: Deciders): void {
    for (const [id, call] of this.#book.calls) {
      const proposal = call.state === 'awaiting_approval' ? call.rounds.at(-1)?.proposals.at(-1) : undefined;
      const named = deciders.get(id) ?? [];
      must(proposal !== undefined || named.length === 0, 6, `${named.join()} may decide about call ${String(id)}`);
      if (proposal !== undefined) this.#votes.decide(call, proposal, named);
    }
  }

  #judge(command: Command, answer: Answer): void {
    switch (command.type) {
      case 'request':
        return this.#request(command, answer);
      case 'ask':
        return this.#ask(command, answer);
      case 'respond':
        return this.#votes.respond(command, answer);
      case 'withdraw':
        return this.#votes.withdraw(command, answer);
      case 'claim':
        return this.#claim(command, answer);
      case 'report':
      case 'reconcile':
        return this.#reported(command, answer);
      case 'cancel':
      case 'cancel-run':
        return this.#cancelled(command, answer);
      case 'grant':
        this.#grants.grant(command, answer);
        return takeOver(this.#book, answer);
      case 'confirm':
        this.#grants.confirm(command, answer);
        return takeOver(this.#book, answer);
      case 'revoke':
        this.#grants.revoke(command, answer);
        return takeOver(this.#book, answer);
      case 'erase':
        return this.#erased(command, answer);
      case 'wait':
      case 'stop':
        this.#book.now += command.seconds;
        if (command.type === 'stop') this.#book.stoppedUntil = this.#book.now;
        return this.#deadlines.passed(answer);
      case 'remove':
        this.#seats.remove(command.person);
        return takeOver(this.#book, answer);
      case 'renew':
        this.#seats.renew(command.person);
        return takeOver(this.#book, answer);
      case 'identify':
        this.#seats.identify(command.person, command.as);
        this.#book.now += 1;
        return this.#deadlines.passed(answer);
      case 'policy':
        this.#book.policy = command.policy;
        this.#book.now += 1;
        return this.#deadlines.passed(answer);
    }
  }

  /** Laws 2 and 10: a call shows its request until a proposal is approved; the approval shows its current proposal. */
  #shows(call: Call, shown: Shown): void {
    const { amount, secret } = call.approved ?? call;
    must(
      shown.amount === amount && shown.hides === (secret !== null),
      call.approved === null ? 2 : 10,
      `the call shows ${String(shown.amount)} in place of ${String(amount)}`,
    );
    const round = call.rounds.at(-1);
    const proposal = round?.proposals.at(-1);
    if (shown.approval?.state !== 'pending' || round === undefined || proposal === undefined) return;
    const { content, proposal: number, isRequest } = shown.approval;
    must(shown.approval.round === call.rounds.length, 2, 'the approval is not that of the last round');
    must(number === round.proposals.length, 2, `people are asked about proposal ${String(number)}`);
    const asked =
      proposal.content.kind === 'answer'
        ? proposal.content.text
        : [proposal.content.amount, proposal.content.secret !== null];
    const isAsked = content.kind === 'answer' ? content.text : [content.amount, content.hides];
    must(
      JSON.stringify(isAsked) === JSON.stringify(asked),
      2,
      `people are asked about ${JSON.stringify(content)} in place of ${JSON.stringify(proposal.content)}`,
    );
    must(proposal.by !== null || isRequest, 2, 'people are asked about another thing than the request');
  }

  #request(command: Request, answer: Answer): void {
    const { calls, by, as } = command;
    const known = calls.flatMap(({ call }) => this.#book.calls.get(call) ?? []);
    if (answer.refused !== null) {
      this.#refusedRequest(command, known, answer.refused);
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
    const batch = this.#batchOf(command);
    const added = fresh.map((one) => this.#added(command, one, batch));
    const asked = added.filter((call) => !this.#isCovered(call, answer));
    this.#quotas.asked(asked.map(toQuestion));
    for (const call of added) this.#book.calls.set(call.id, call);
    for (const call of asked) this.#opened(call, command.expiresIn);
    takeOver(this.#book, answer);
  }

  #batchOf({ batch: name, by, calls }: Request): Batch | null {
    const [first] = calls;
    if (name === null || first === undefined) return null;
    return { name, by, run: runOf(first.call), members: calls.map(({ call }) => call), hasBegun: false };
  }

  #added({ by, as, onBehalfOf }: Request, { call: id, amount, secret, inside }: AskedCall, batch: Batch | null): Call {
    must(!this.#isInsideCancelled({ inside, by }), 1, 'a call was requested inside one that was cancelled');
    const nothing = { rounds: [], approved: null, claims: [], isErased: false };
    return { ...{ id, amount, secret, by, as, onBehalfOf, inside, batch, ...nothing }, state: 'awaiting_approval' };
  }

  /** Whether the call around this one was cancelled, or one of the same principal further out. */
  #isInsideCancelled({ inside, by }: Pick<Call, 'inside' | 'by'>): boolean {
    const outer = inside === null ? undefined : this.#book.calls.get(inside);
    const around = outer === undefined ? [] : this.#book.around(outer);
    return around.some((one) => one.state === 'cancelled' && (one === outer || one.by === by));
  }

  /** Whether a grant covers a new call. No policy of a world allows one by itself. */
  #isCovered(call: Call, answer: Answer): boolean {
    const shown = answer.calls.get(call.id);
    must(shown !== undefined, 1, 'a call that was requested is not shown');
    const grant = this.#grants.covering(call);
    if (shown.state === 'allowed') {
      must(!this.#grants.guesses(shown.grant), 12, 'a grant for a guess at a hidden value covers a call');
      must(!this.#grants.isOfAnother(shown.grant, call), 14, "a grant for another principal's calls covers a call");
      must(shown.grant === grant, 9, `allowed by the grant ${String(shown.grant)}, and ${String(grant)} covers it`);
    }
    must(grant === null || shown.state === 'allowed', 1, `the grant ${String(grant)} covers a call, and it waits`);
    if (grant === null) return false;
    this.#grants.use(grant, call);
    call.state = 'allowed';
    return true;
  }

  /** Every refusal of a request needs a cause, and no other principal is one (law 14). */
  #refusedRequest({ calls, by, as, batch, onBehalfOf }: Request, known: readonly Call[], code: string): void {
    const outer = calls.flatMap(({ inside }) => (inside === null ? [] : [this.#book.calls.get(inside)]));
    switch (code) {
      case 'too-many-requests':
      case 'already-pending': {
        const questions = calls.filter(({ call }) => !this.#book.calls.has(call)).map((one) => ({ ...one, by, as }));
        return this.#quotas.refused(code, questions);
      }
      case 'tool-call-mismatch':
        return must(known.length > 0, 14, 'a new call was taken for another one');
      case 'no-approver-left':
        return must(onBehalfOf !== null || outer.length > 0, 4, 'no approver is left, and the agent named no person');
      case 'already-settled':
        return must(
          calls.some(({ inside }) => this.#isInsideCancelled({ inside, by })),
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

  #ask({ call: id, by, expiresIn }: Of<'ask'>, answer: Answer): void {
    const call = this.#book.calls.get(id);
    if (answer.refused !== null || call === undefined) {
      if (answer.refused === 'too-many-requests' || answer.refused === 'already-pending')
        if (call !== undefined && call.state !== 'awaiting_approval')
          this.#quotas.refused(answer.refused, [toQuestion(call)]);
      return takeOver(this.#book, answer);
    }
    must(call.by === by, 14, `${by} asked about the call of ${call.by}`);
    must(['expired', 'allowed'].includes(call.state), 1, `a call that is ${call.state} was asked about again`);
    must(isReadable(call), 1, 'people are asked about values that are erased');
    must(!this.#isInsideCancelled(call), 1, 'people are asked about a call inside one that was cancelled');
    must(call.batch?.hasBegun !== true, 1, 'people are asked about a call whose batch runs');
    must(call.rounds.length < 16, 13, 'a 17th round');
    this.#quotas.asked([toQuestion(call)]);
    this.#opened(call, expiresIn);
    takeOver(this.#book, answer, new Map([[id, ['awaiting_approval']]]));
  }

  #opened(call: Call, expiresIn: number | null): void {
    const { now } = this.#book;
    const content = { kind: 'run', amount: call.amount, secret: call.secret } as const;
    const rules = [this.#book.ruleOf(call.amount)];
    this.#seats.leavesApprovers(call, rules);
    const proposal: Proposal = { content, rules, by: null, at: now, votes: [], escalated: new Map() };
    this.#book.rounds += 1;
    call.rounds.push({
      ...{ nth: this.#book.rounds, askedAt: now, expiresIn, isDisputed: false, proposals: [proposal], end: null },
      ...{ responded: new Set(), responses: 0 },
    });
    call.approved = null;
  }

  #claim({ call: id, key }: Of<'claim'>, answer: Answer): void {
    const call = this.#book.calls.get(id);
    const { claim } = answer;
    if (claim === undefined || call === undefined) return takeOver(this.#book, answer);
    const latest = call.claims.at(-1);
    const isRepeat = latest?.key === key && call.state === 'executing';
    must(
      isRepeat || ['approved', 'allowed'].includes(call.state),
      1,
      `a claim was given although the call is ${call.state}`,
    );
    must(!isRepeat || latest.attempt === claim.attempt, 11, 'a repeat got another claim');
    const { amount, secret } = call.approved ?? call;
    must(
      claim.amount === amount && claim.secret === secret,
      1,
      `${String(claim.amount)} ${String(claim.secret)} runs, and ${String(amount)} ${String(secret)} was approved`,
    );
    must(isReadable(call), 1, 'a call with erased values runs');
    instructed(call, claim.instruction);
    if (!isRepeat) this.#begun(call, { key, attempt: claim.attempt });
    takeOver(this.#book, answer, new Map([[id, ['executing']]]));
  }

  #begun(call: Call, claim: Call['claims'][number]): void {
    call.claims.push(claim);
    if (call.batch === null) return;
    const waiting = call.batch.members.filter((one) => {
      const state = this.#book.calls.get(one)?.state ?? 'missing';
      return state === 'missing' || state === 'awaiting_approval' || hasEnded(state);
    });
    must(waiting.length === 0, 1, `a call runs before call ${waiting.join()} of its batch may`);
    call.batch.hasBegun = true;
  }

  #reported(command: Of<'report'> | Of<'reconcile'>, answer: Answer): void {
    const call = this.#book.calls.get(command.call);
    if (answer.refused !== null || call === undefined) return takeOver(this.#book, answer);
    const again = call.approved === null ? 'allowed' : 'approved';
    const after = command.type === 'reconcile' && command.as === 'retry' ? again : 'succeeded';
    takeOver(this.#book, answer, new Map([[command.call, [after]]]));
  }

  /** Law 14: a principal cancels its own calls, one or those of a run, with what it runs inside them. */
  #cancelled(command: Of<'cancel'> | Of<'cancel-run'>, answer: Answer): void {
    const { calls } = this.#book;
    const isNamed = (outer: Call): boolean =>
      command.type === 'cancel' ? outer.id === command.call && isCancellable(outer) : runOf(outer.id) === command.run;
    const isMeant = (call: Call): boolean =>
      this.#book.around(call).some((outer) => outer.by === call.by && isNamed(outer));
    const meant = [...calls.values()].filter((call) => isMeant(call) && call.by === command.by);
    const open = meant.filter(isCancellable);
    takeOver(this.#book, answer, new Map(open.map(({ id }) => [id, ['cancelled']])));
  }

  /** Law 14: the values of one principal, or of all who use the name of a subject. */
  #erased({ of, force }: Of<'erase'>, answer: Answer): void {
    const meant = [...this.#book.calls.values()].filter((call) => (of ?? call.by) === call.by && hasSecrets(call));
    const ends = meant.filter((call) => force && isCancellable(call));
    takeOver(this.#book, answer, new Map(ends.map(({ id }) => [id, ['cancelled']])));
    if (answer.refused !== null) return;
    for (const call of meant) {
      must(!isOpen(call.state) && call.state !== 'executing', 1, `the values of an open call were erased`);
      call.isErased = true;
    }
  }
}

const toQuestion = ({ id, amount, secret, by, as }: Call): Question => ({ call: id, amount, secret, by, as });
