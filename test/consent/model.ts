import { Book, cancellableIn, hasEnded, hasSecrets, isCancellable, isOpen, isWaiting, must, takeOver } from './book.ts';
import type { Call } from './book.ts';
import { Deadlines } from './deadlines.ts';
import { Grants } from './grants.ts';
import { Questions } from './questions.ts';
import { QuotaCheck } from './quotas.ts';
import type { Deciders } from './subject.ts';
import { Seats } from './seats.ts';
import { Steps } from './steps.ts';
import { Turns } from './turns.ts';
import { instructed, isReadable, Votes } from './votes.ts';
import { Withdrawals } from './withdrawals.ts';
import type { Answer, Command, Delegation, People, Policy, Shown } from './words.ts';
import { isOfClient, runOf } from './world.ts';

type Of<Type extends Command['type']> = Extract<Command, { type: Type }>;

/**
 * The laws of consent as a model. It knows people, rules, proposals, grants, quotas, batches and time, and nothing of the
 * product. Where the laws leave a choice it takes what the product did; otherwise it says what must or must not happen.
 */
export class ConsentModel {
  readonly #book: Book;
  readonly #seats: Seats;
  readonly #grants: Grants;
  readonly #questions: Questions;
  readonly #steps: Steps;
  readonly #turns: Turns;
  readonly #votes: Votes;
  readonly #withdrawals: Withdrawals;
  readonly #deadlines: Deadlines;

  constructor(people: People, delegations: readonly Delegation[], policy: Policy) {
    this.#book = new Book(policy);
    this.#seats = new Seats(this.#book, people, delegations);
    this.#grants = new Grants(this.#book, this.#seats);
    const quotas = new QuotaCheck(this.#book);
    this.#questions = new Questions(this.#book, this.#seats, quotas);
    this.#steps = new Steps(this.#book, this.#grants, quotas, this.#questions);
    this.#turns = new Turns(this.#book, this.#grants, this.#questions);
    this.#votes = new Votes(this.#book, this.#seats, this.#grants);
    this.#withdrawals = new Withdrawals(this.#book, this.#seats);
    this.#deadlines = new Deadlines(this.#book, this.#seats);
  }

  /** Judges the product's answer to a command, and takes over what it did. Throws `Broken`. */
  step(command: Command, answer: Answer): void {
    this.#judge(command, answer);
    this.#turns.check(answer);
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
      const proposal =
        call.state === 'awaiting_approval' && !isWaiting(call) ? call.rounds.at(-1)?.proposals.at(-1) : undefined;
      const named = deciders.get(id) ?? [];
      must(proposal !== undefined || named.length === 0, 6, `${named.join()} may decide about call ${String(id)}`);
      if (proposal !== undefined) this.#votes.decide(call, proposal, named);
    }
  }

  #judge(command: Command, answer: Answer): void {
    switch (command.type) {
      case 'request':
        return this.#steps.request(command, answer);
      case 'ask':
        return this.#questions.ask(command, answer);
      case 'respond':
        return this.#votes.respond(command, answer);
      case 'approve-all':
        return this.#votes.approveAll(command, answer);
      case 'withdraw':
        return this.#withdrawals.withdraw(command, answer);
      case 'end-person':
        return this.#withdrawals.endPerson(command, answer);
      case 'claim':
        return this.#claim(command, answer);
      case 'extend':
        return this.#extended(command, answer);
      case 'output':
        return this.#output(command, answer);
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
      case 'restart':
        this.#book.stoppedUntil = this.#book.now;
        return takeOver(this.#book, answer);
      // Law 17: only the time of the store counts.
      case 'drift':
        return takeOver(this.#book, answer);
      case 'remove':
        this.#seats.remove(command.person);
        return takeOver(this.#book, answer);
      case 'desk':
        this.#opened(command);
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

  #opened(command: Of<'desk'>): void {
    const { desk } = this.#seats;
    if (command.does === 'close') desk.close();
    else desk[command.does](command.groups);
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
        ? [proposal.content.text, proposal.content.secret !== null]
        : [proposal.content.amount, proposal.content.secret !== null];
    const isAsked = content.kind === 'answer' ? [content.text, content.hides] : [content.amount, content.hides];
    must(
      JSON.stringify(isAsked) === JSON.stringify(asked),
      2,
      `people are asked about ${JSON.stringify(content)} in place of ${JSON.stringify(proposal.content)}`,
    );
    must(proposal.by !== null || isRequest, 2, 'people are asked about another thing than the request');
  }

  #claim({ call: id, key }: Of<'claim'>, answer: Answer): void {
    const call = this.#book.calls.get(id);
    const { claim } = answer;
    if (claim === undefined || call === undefined) {
      if (call !== undefined) notClaimed(call, key, answer.refused);
      return takeOver(this.#book, answer);
    }
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

  /** Law 11: a claim is renewed only while it lasts, also on a repeat. */
  #extended({ call: id, attempt }: Of<'extend'>, answer: Answer): void {
    const call = this.#book.calls.get(id);
    const isHeld = call?.state === 'executing' && call.claims.at(-1)?.attempt === attempt;
    must(
      answer.refused !== null || isHeld,
      11,
      `the claim ${String(attempt)} was renewed, and the call is ${String(call?.state)}`,
    );
    takeOver(this.#book, answer);
  }

  /** The client ran a call itself. */
  #output({ call: id, by }: Of<'output'>, answer: Answer): void {
    const call = this.#book.calls.get(id);
    if (answer.refused !== null || call === undefined) return takeOver(this.#book, answer);
    must(call.by === by, 14, `${by} ran the call of ${call.by}`);
    const isRepeat = call.claims.length > 0 && call.state === 'succeeded';
    must(isRepeat || ['approved', 'allowed'].includes(call.state), 1, `a client ran a call that is ${call.state}`);
    must(isReadable(call), 1, 'a call with erased values ran');
    if (!isRepeat) this.#begun(call, { key: 'client', attempt: 0 });
    takeOver(this.#book, answer, new Map([[id, ['succeeded']]]));
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
    const isRetry = command.type === 'reconcile' && command.as === 'retry';
    const after = isRetry ? again : 'succeeded';
    if (isRetry && call.turn !== null) call.turn.isBeside = true;
    takeOver(this.#book, answer, new Map([[command.call, [after]]]));
  }

  /** Law 14: a principal cancels its own calls, one or those of a run, with what it runs inside them. */
  #cancelled(command: Of<'cancel'> | Of<'cancel-run'>, answer: Answer): void {
    const { by } = command;
    const own = [...this.#book.calls.values()].filter((call) => call.by === by);
    const isMeant = (call: Call): boolean =>
      this.#book
        .around(call)
        .some((one) => one.by === by && command.type === 'cancel' && one.id === command.call && isCancellable(one));
    const open =
      command.type === 'cancel-run'
        ? cancellableIn(this.#book, command.run, by)
        : own.filter((call) => isCancellable(call) && isMeant(call));
    if (command.type === 'cancel-run' && own.some(({ id }) => runOf(id) === command.run)) {
      this.#grants.endOfRun(command.run, by);
    }
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

/** A refusal of a claim needs a cause, and the key of an earlier claim gets no other one (law 11). */
function notClaimed(call: Call, key: string, code: string | null): void {
  const mayRun = ['approved', 'allowed'].includes(call.state);
  if (mayRun && call.claims.some((one) => one.key === key))
    return must(code === 'already-claimed', 11, `the repeat of a released claim was refused with ${String(code)}`);
  const mayBe = !mayRun || call.batch !== null || isOfClient(call.id) || !isReadable(call);
  must(mayBe, 1, `call ${String(call.id)} may run, and its claim was refused with ${String(code)}`);
}
