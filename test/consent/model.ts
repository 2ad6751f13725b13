import { Seats } from './seats.ts';
import type { Call, Proposal, Round, Vote } from './seats.ts';
import type { Answer, Command, Decision, People, Policy, Rule, Shown } from './words.ts';

/** A law that the product broke, and how. */
export class Broken extends Error {
  constructor(law: number, detail: string) {
    super(`law ${String(law)}: ${detail}`);
  }
}

function must(holds: boolean, law: number, detail: string): asserts holds {
  if (!holds) throw new Broken(law, detail);
}

const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

/**
 * The laws of consent as a model. It knows people, rules, proposals and time, and nothing of the product. Where the laws
 * leave a choice it takes what the product did; otherwise it says what must or must not happen.
 */
export class ConsentModel {
  readonly #people: People;
  readonly #seats: Seats;
  #policy: Policy;
  #now = 0;
  readonly #calls = new Map<number, Call>();

  constructor(people: People, policy: Policy) {
    this.#people = people;
    this.#seats = new Seats(people);
    this.#policy = policy;
  }

  /** Judges the product's answer to a command, and takes over what it did. Throws `Broken`. */
  step(command: Command, answer: Answer): void {
    switch (command.type) {
      case 'request':
        return this.#request(command, answer);
      case 'ask':
        return this.#ask(command, answer);
      case 'respond':
        return this.#respond(command, answer);
      case 'withdraw':
        return this.#withdraw(command, answer);
      case 'claim':
        return this.#claim(command, answer);
      case 'report':
        return this.#follow(answer, command.call, answer.refused === null ? ['succeeded'] : null);
      case 'reconcile': {
        const after = command.as === 'retry' ? 'approved' : 'succeeded';
        return this.#follow(answer, command.call, answer.refused === null ? [after] : null);
      }
      case 'cancel':
        return this.#follow(answer, command.call, answer.refused === null ? ['cancelled'] : null);
      case 'wait':
        this.#now += command.seconds;
        return this.#timePassed(answer);
      case 'remove':
        this.#seats.remove(command.person);
        return this.#nothingElse(answer, null);
      case 'identify':
        this.#seats.identify(command.person, command.as);
        return this.#nothingElse(answer, null);
      case 'policy':
        this.#policy = command.policy;
        return this.#nothingElse(answer, null);
    }
  }

  #ruleOf(amount: number): Rule {
    const rule = this.#policy.findLast(({ from }) => amount >= from);
    must(rule !== undefined, 1, 'the policy has a rule for every amount');
    return rule;
  }

  /** No command changes a call that it does not name. */
  #nothingElse(answer: Answer, named: number | null): void {
    for (const [id, call] of this.#calls) {
      if (id === named) continue;
      const shown = answer.calls.get(id);
      must(
        shown !== undefined && shown.state === call.state,
        10,
        `call ${String(id)} changed by itself: ${call.state} → ${String(shown?.state)}`,
      );
    }
  }

  /** Takes over the state of a call, which must be one of these; null: as before. */
  #follow(answer: Answer, id: number, states: readonly string[] | null): void {
    this.#nothingElse(answer, id);
    const call = this.#calls.get(id);
    const shown = answer.calls.get(id);
    if (call === undefined || shown === undefined) return;
    must(
      (states ?? [call.state]).includes(shown.state),
      1,
      `call ${String(id)} is ${shown.state} and not ${String(states ?? call.state)}`,
    );
    call.state = shown.state;
    this.#shows(call, shown);
  }

  /** Laws 2 and 10: a call shows its request until a proposal is approved; the approval shows its current proposal. */
  #shows(call: Call, shown: Shown): void {
    const amount = call.approved?.amount ?? call.amount;
    must(
      shown.amount === amount,
      call.approved === null ? 2 : 10,
      `the call shows ${String(shown.amount)} in place of ${String(amount)}`,
    );
    const proposal = call.rounds.at(-1)?.proposals.at(-1);
    if (shown.approval?.state !== 'pending' || proposal === undefined) return;
    must(shown.approval.round === call.rounds.length, 2, 'the approval is not that of the last round');
    must(
      isSame(shown.approval.content, proposal.content),
      2,
      `people are asked about ${JSON.stringify(shown.approval.content)} in place of ${JSON.stringify(proposal.content)}`,
    );
  }

  #request({ call: id, amount, expiresIn, onBehalfOf }: Extract<Command, { type: 'request' }>, answer: Answer): void {
    if (this.#calls.has(id)) return this.#follow(answer, id, null);
    this.#nothingElse(answer, id);
    if (answer.refused !== null) return;
    this.#calls.set(id, { amount, onBehalfOf, rounds: [], state: 'awaiting_approval', approved: null, claims: [] });
    this.#opened(id, expiresIn, answer);
  }

  /** Law 4: an agent that acts for a person excludes that person, and not all approvers of a stage. */
  #leavesApprovers(amount: number, onBehalfOf: string): void {
    for (const { groups } of this.#ruleOf(amount).stages) {
      const people = this.#seats.approvers(groups);
      const isLeft = people.length === 0 || people.some((one) => this.#seats.who(one) !== this.#seats.who(onBehalfOf));
      must(isLeft, 4, `no approver of ${groups.join(', ')} is left beside ${onBehalfOf}`);
    }
  }

  #ask({ call: id, expiresIn }: Extract<Command, { type: 'ask' }>, answer: Answer): void {
    const call = this.#calls.get(id);
    if (answer.refused !== null || call === undefined) return this.#follow(answer, id, null);
    must(['expired', 'allowed'].includes(call.state), 1, `a call that is ${call.state} was asked about again`);
    must(call.rounds.length < 16, 13, 'a 17th round');
    this.#opened(id, expiresIn, answer);
  }

  #opened(id: number, expiresIn: number | null, answer: Answer): void {
    const call = this.#calls.get(id);
    const shown = answer.calls.get(id);
    must(call !== undefined && shown !== undefined, 1, 'a call that was requested is not shown');
    if (call.onBehalfOf !== null) this.#leavesApprovers(call.amount, call.onBehalfOf);
    const rule = this.#ruleOf(call.amount);
    const content = { kind: 'run', amount: call.amount } as const;
    const proposal: Proposal = { content, rules: [rule], by: null, at: this.#now, votes: [], escalated: new Map() };
    call.rounds.push({ askedAt: this.#now, expiresIn, isDisputed: false, proposals: [proposal] });
    call.approved = null;
    this.#follow(answer, id, ['awaiting_approval']);
  }

  #isOwn(call: Call, principal: string): boolean {
    return call.onBehalfOf !== null && this.#seats.who(call.onBehalfOf) === this.#seats.who(principal);
  }

  #respond(command: Extract<Command, { type: 'respond' }>, answer: Answer): void {
    const { call: id, by, decision, seen, instruction } = command;
    const call = this.#calls.get(id);
    const round = call?.rounds.at(-1);
    const current = round?.proposals.at(-1);
    if (answer.refused !== null || call === undefined || round === undefined || current === undefined) {
      if (call !== undefined && current !== undefined) this.#refusedWithCause(command, call, current, answer);
      return this.#follow(answer, id, null);
    }
    must(call.state === 'awaiting_approval', 1, `a response counted although the call is ${call.state}`);
    must(!this.#seats.isRemoved(by), 8, `${by} was removed, and answered`);
    must(
      current.rules.some((rule) => this.#seats.isAsked(current, rule, by)),
      3,
      `${by} has no seat, and answered`,
    );
    must(!this.#isOwn(call, by), 9, `${by} answered their own request`);
    must(seen !== 'first' || round.proposals.length === 1, 6, 'a response to an earlier proposal counted');
    const earlier = current.votes.find(
      (vote) => this.#seats.who(vote.by) === this.#seats.who(by) && !this.#seats.isRemoved(vote.by),
    );
    must(
      earlier === undefined || decision.type !== 'approve' || !earlier.agrees,
      9,
      `${by} voted twice for one proposal`,
    );
    this.#voted(call, round, current, { by, agrees: decision.type !== 'deny', instruction }, decision);
    this.#resolvedByVotes(id, call, answer);
  }

  /** A refusal needs a cause. This names those that the model knows; a plain vote without one of them must count. */
  #refusedWithCause(
    { by, decision, seen }: Extract<Command, { type: 'respond' }>,
    call: Call,
    current: Proposal,
    answer: Answer,
  ): void {
    const isPlain = decision.type === 'approve' || decision.type === 'deny';
    if (!isPlain || call.state !== 'awaiting_approval' || this.#seats.isRemoved(by) || this.#isOwn(call, by)) return;
    const isAsked = (rule: Rule): boolean =>
      rule.stages.every(({ groups }) => groups.some((one) => this.#people[by]?.includes(one)));
    if (current.rules.some((rule) => rule.stages.length > 1 || !isAsked(rule))) return;
    if (current.votes.some((vote) => this.#seats.who(vote.by) === this.#seats.who(by))) return;
    if (seen === 'first' && (call.rounds.at(-1)?.proposals.length ?? 0) > 1) return;
    must(answer.refused === 'expired', 1, `${by} may answer, and was refused with ${String(answer.refused)}`);
  }

  #voted(call: Call, round: Round, current: Proposal, vote: Vote, decision: Decision): void {
    const others = current.votes.filter((one) => this.#seats.who(one.by) !== this.#seats.who(vote.by));
    const next = this.#proposed(round, decision);
    // An edit that changes nothing is a vote for what is asked.
    const isNew = next !== null && !(isSame(next.content, current.content) && isSame(next.rules, current.rules));
    if (!vote.agrees || isNew) round.isDisputed = true;
    if (!isNew) current.votes = [...others, vote];
    else {
      const votes = [...others.filter(({ agrees }) => !agrees), vote];
      round.proposals.push({ ...next, by: vote.by, at: this.#now, votes, escalated: new Map() });
    }
  }

  /** What an edit or an answer proposes: the rule of the request holds, and that of the edited amount. */
  #proposed(round: Round, decision: Decision): Pick<Proposal, 'content' | 'rules'> | null {
    const first = round.proposals[0]?.rules[0];
    must(first !== undefined, 1, 'a round has a rule');
    switch (decision.type) {
      case 'edit': {
        const rule = this.#ruleOf(decision.amount);
        return {
          content: { kind: 'run', amount: decision.amount },
          rules: rule.id === first.id ? [first] : [first, rule],
        };
      }
      case 'answer':
        return { content: { kind: 'answer', text: decision.text }, rules: [first] };
      default:
        return null;
    }
  }

  /** Law 1: approved only by every requirement, and then it must be. */
  #resolvedByVotes(id: number, call: Call, answer: Answer): void {
    const proposal = call.rounds.at(-1)?.proposals.at(-1);
    const shown = answer.calls.get(id);
    must(proposal !== undefined && shown !== undefined, 1, 'an approval has a proposal');
    if (shown.state === 'approved' || shown.state === 'succeeded') {
      must(
        this.#seats.mayBeApproved(proposal),
        1,
        `approved without all that it needs: ${JSON.stringify(proposal.votes)}`,
      );
      const instructions = proposal.votes
        .filter((vote) => vote.agrees && !this.#seats.isRemoved(vote.by))
        .map((vote) => vote.instruction);
      const amount = proposal.content.kind === 'run' ? proposal.content.amount : call.amount;
      call.approved = { amount, instructions };
      this.#instructed(call, shown.instruction);
      return this.#follow(answer, id, [proposal.content.kind === 'run' ? 'approved' : 'succeeded']);
    }
    if (shown.state === 'denied') {
      must(this.#seats.mayBeDenied(proposal), 1, 'denied without enough refusals');
      return this.#follow(answer, id, ['denied']);
    }
    must(
      !this.#seats.mustBeApproved(proposal) || this.#seats.mayBeDenied(proposal),
      1,
      'everybody agreed, and it is not approved',
    );
    this.#follow(answer, id, ['awaiting_approval']);
  }

  /** Law 7: only the instruction of a vote that counted. */
  #instructed({ approved }: Call, instruction: string | null): void {
    const strangers = (instruction ?? '')
      .split('\n\n')
      .filter((one) => one !== '' && !approved?.instructions.includes(one));
    must(strangers.length === 0, 7, `"${strangers.join('", "')}" is no instruction of a vote that counts`);
  }

  #withdraw({ call: id, by }: Extract<Command, { type: 'withdraw' }>, answer: Answer): void {
    const call = this.#calls.get(id);
    const round = call?.rounds.at(-1);
    const current = round?.proposals.at(-1);
    if (answer.refused !== null || round === undefined || current === undefined) return this.#follow(answer, id, null);
    const own = current.votes.filter((vote) => this.#seats.who(vote.by) === this.#seats.who(by));
    // A repeat changes nothing.
    if (own.length === 0) return this.#follow(answer, id, null);
    current.votes = current.votes.filter((vote) => !own.includes(vote));
    if (current.by !== null && this.#seats.who(current.by) === this.#seats.who(by)) this.#endProposal(round, current);
    this.#follow(answer, id, ['awaiting_approval']);
  }

  /** Law 2: people are asked about the agent's request again. Denials remain. */
  #endProposal(round: Round, ended: Proposal): void {
    const first = round.proposals[0];
    must(first !== undefined, 2, 'a round has the request as its first proposal');
    const votes = ended.votes.filter(({ agrees }) => !agrees);
    round.proposals.push({ ...first, by: null, at: this.#now, votes, escalated: new Map() });
  }

  // Time.

  #timePassed(answer: Answer): void {
    for (const [id, call] of this.#calls) {
      const shown = answer.calls.get(id);
      must(shown !== undefined, 1, 'a call vanished');
      if (call.state === 'awaiting_approval') this.#ends(call, shown);
      else if (call.state === 'approved') call.state = oneOf(shown.state, ['approved', 'expired']);
      else if (call.state === 'executing') call.state = oneOf(shown.state, ['executing', 'unknown', 'approved']);
      else must(shown.state === call.state, 1, `time changed a call that is ${call.state} to ${shown.state}`);
      this.#shows(call, shown);
    }
  }

  #ends(call: Call, shown: Shown): void {
    const round = call.rounds.at(-1);
    const proposal = round?.proposals.at(-1);
    must(round !== undefined && proposal !== undefined, 1, 'an approval has a proposal');
    for (const rule of proposal.rules) this.#escalates(proposal, round, rule);
    if (shown.state === 'approved') this.#silence(call, round, proposal);
    else if (shown.state === 'expired') {
      must(
        proposal.rules.some((rule) => this.#mayEnd(proposal, round, rule)),
        4,
        'it expired before any deadline that denies',
      );
    } else {
      must(
        !proposal.rules.some((rule) => this.#mustEnd(proposal, rule)),
        3,
        'a deadline that denies is over, and it waits',
      );
    }
    call.state = oneOf(shown.state, ['awaiting_approval', 'expired', 'approved']);
    if (call.state === 'approved') this.#instructed(call, shown.instruction);
  }

  /** A shorter time of the agent counts only where every end that follows is a denial (law 4). */
  #timeOf(rule: Rule, round: Round): number {
    return rule.atEnd === 'deny' ? Math.min(rule.expiresIn, round.expiresIn ?? rule.expiresIn) : rule.expiresIn;
  }

  #escalates(proposal: Proposal, round: Round, rule: Rule): void {
    if (rule.atEnd !== 'escalate' || proposal.escalated.has(rule.id)) return;
    const from = Math.min(round.askedAt, proposal.at) + this.#timeOf(rule, round);
    if (this.#now >= from) proposal.escalated.set(rule.id, this.#now);
  }

  #mayEnd(proposal: Proposal, round: Round, rule: Rule): boolean {
    if (rule.atEnd === 'hold') return false;
    const extra = rule.atEnd === 'escalate' ? (rule.escalation?.expiresIn ?? 0) : 0;
    return this.#now >= round.askedAt + this.#timeOf(rule, round) + extra;
  }

  /** The latest reading of the laws: each requirement's time begins with its proposal. */
  #mustEnd(proposal: Proposal, rule: Rule): boolean {
    return rule.atEnd === 'deny' && this.#now >= proposal.at + rule.expiresIn;
  }

  /** Law 5: silence approves the first round of an undisputed request, below high risk. */
  #silence(call: Call, round: Round, proposal: Proposal): void {
    const isSilent = proposal.rules.every(
      (rule) => rule.atEnd === 'allow' && !rule.isHigh && this.#now >= round.askedAt + rule.expiresIn,
    );
    must(isSilent, 5, 'approved by silence, and a rule does not say so');
    must(
      call.rounds.length === 1 && !round.isDisputed,
      5,
      'silence approved what somebody objected to, edited or answered, or a later round',
    );
    call.approved = { amount: call.amount, instructions: [] };
  }

  #claim({ call: id, key }: Extract<Command, { type: 'claim' }>, answer: Answer): void {
    const call = this.#calls.get(id);
    const { claim } = answer;
    if (claim === undefined || call === undefined) return this.#follow(answer, id, null);
    const latest = call.claims.at(-1);
    const isRepeat = latest?.key === key && call.state === 'executing';
    must(isRepeat || call.state === 'approved', 1, `a claim was given although the call is ${call.state}`);
    must(!isRepeat || latest.attempt === claim.attempt, 11, 'a repeat got another claim');
    must(
      claim.amount === (call.approved?.amount ?? NaN),
      1,
      `${String(claim.amount)} runs, and ${String(call.approved?.amount)} was approved`,
    );
    this.#instructed(call, claim.instruction);
    if (!isRepeat) call.claims.push({ key, attempt: claim.attempt });
    this.#follow(answer, id, ['executing']);
  }
}

function oneOf(state: string, allowed: readonly string[]): string {
  must(allowed.includes(state), 1, `${state} is none of ${allowed.join(', ')}`);
  return state;
}
