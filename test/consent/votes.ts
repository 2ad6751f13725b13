import { cancellableIn, isSame, isWaiting, must, takeOver } from './book.ts';
import type { Book, Call, Proposal, Round, States, Vote } from './book.ts';
import type { Grants } from './grants.ts';
import { anyApprover } from './joint.ts';
import type { Seats } from './seats.ts';
import type { Answer, ApproveAll, Decision, Respond, Rule } from './words.ts';
import { isOfDesk, runOf } from './world.ts';

interface Asked {
  readonly call: Call;
  readonly round: Round;
  readonly current: Proposal;
}

/** What people say, and what it leads to. */
export class Votes {
  readonly #book: Book;
  readonly #seats: Seats;
  readonly #grants: Grants;

  constructor(book: Book, seats: Seats, grants: Grants) {
    this.#book = book;
    this.#seats = seats;
    this.#grants = grants;
  }

  #asked(id: number): Asked | undefined {
    const call = this.#book.calls.get(id);
    const round = call?.rounds.at(-1);
    const current = round?.proposals.at(-1);
    if (call === undefined || isWaiting(call)) return undefined;
    return round && current && { call, round, current };
  }

  respond(command: Respond, answer: Answer): void {
    const asked = this.#asked(command.call);
    if (asked === undefined) {
      must(answer.refused !== null, 1, 'a response to a call about which no person is asked');
      return takeOver(this.#book, answer);
    }
    if (answer.refused !== null) {
      this.#isToldWhatHolds(command, asked, answer.refused, answer.mayDecide);
      this.#refusedWithCause(command, asked, answer.refused);
      return takeOver(this.#book, answer);
    }
    const states = this.#counted(command, asked, answer);
    const { call, current } = asked;
    const { by, remember } = command;
    if (remember !== null && call.approved !== null) {
      this.#grants.remember(by, remember, call, call.approved, current.rules);
    }
    takeOver(this.#book, answer, states);
  }

  /** One person approves several calls, and each of them by its own proposal: all count, or none. */
  approveAll({ calls, by, seen }: ApproveAll, answer: Answer): void {
    if (answer.refused !== null) return takeOver(this.#book, answer);
    const states = calls.flatMap((id) => {
      const asked = this.#asked(id);
      must(asked !== undefined, 1, 'a response to a call about which no person is asked');
      const one = { type: 'respond', call: id, by, decision: { type: 'approve' }, seen } as const;
      return [...this.#counted({ ...one, instruction: null, remember: null }, asked, answer)];
    });
    takeOver(this.#book, answer, new Map(states));
  }

  /** A response that counts. Returns the states that it leads to. */
  #counted(command: Respond, asked: Asked, answer: Answer): States {
    const { call, round } = asked;
    const { by, decision, instruction } = command;
    const inPlaceOf = answer.calls.get(call.id)?.approval?.inPlaceOf ?? null;
    const token = this.#seats.tokenOf(by);
    const groups = this.#seats.groupsOf({ by, inPlaceOf });
    const vote = { by, inPlaceOf, agrees: decision.type !== 'deny', instruction, token, groups };
    this.#mayCount(command, vote, asked);
    this.#wasTold(command, vote, asked, answer.mayDecide);
    this.#recorded(vote, asked, decision);
    round.responses += 1;
    round.letters += instruction?.length ?? 0;
    must(round.letters <= lettersMax, 13, 'an approval shows more than 1 MiB');
    round.responded.add(this.#seats.speakerOf(by));
    return this.#resolved(call, answer);
  }

  /** A person who is told that they may decide can deny. */
  #isToldWhatHolds({ by, decision }: Respond, { call }: Asked, refused: string, mayDecide = false): void {
    if (!mayDecide) return;
    must(call.state === 'awaiting_approval', 6, `${by} was told that they may decide, and it is ${call.state}`);
    must(this.#seats.mayBeAsked(call, by), 6, `${by} may not decide, and was told that they may`);
    const others = ['digest-mismatch', 'too-many', 'decision-not-allowed', 'signature-required'];
    const isDenial = decision.type === 'deny';
    must(!isDenial || others.includes(refused), 6, `${by} may decide, and a denial was refused with ${refused}`);
  }

  /** A person whose response counts was told that they may decide. One who has voted can still propose another thing. */
  #wasTold({ by, decision }: Respond, vote: Vote, { current }: Asked, mayDecide = true): void {
    const proposes = decision.type === 'edit' || decision.type === 'answer';
    const hasVoted = current.votes.some((one) => this.#seats.isOfSame(one, vote));
    must(mayDecide || (proposes && hasVoted), 6, `${by} was told that they may not decide, and decided`);
  }

  #mayCount({ by, decision, seen, remember }: Respond, vote: Vote, { call, round, current }: Asked): void {
    const { inPlaceOf } = vote;
    must(call.state === 'awaiting_approval', 1, `a response counted although the call is ${call.state}`);
    must(!this.#seats.isRemoved(by), 8, `${by} was removed, and answered`);
    must(
      !this.#seats.isLost(vote, current),
      8,
      `${by} answered in the place of ${String(inPlaceOf)}, who did not delegate to them`,
    );
    must(
      current.rules.some((rule) => this.#seats.isAsked(current, rule, vote)),
      3,
      `${by} has no seat, and answered`,
    );
    must(this.#seats.isAssured(current.rules, by), 1, `${by} answered with a low assurance`);
    must(!current.rules.some(({ signed }) => signed === true), 1, `${by} answered without a signature`);
    must(remember === null || !isOfDesk(by), 9, `${by} gave a standing grant`);
    must(!this.#seats.isOwn(call, by), 9, `${by} answered their own request`);
    must(inPlaceOf === null || !this.#seats.isOwn(call, inPlaceOf), 9, `${by} answered in the place of a requester`);
    const isOld = (seen === 'first' || seen === 'early') && round.proposals.length > 1;
    must(!isOld, 6, 'a response to an earlier proposal counted');
    must(seen !== 'early' || !this.#hasWords(current), 7, `${by} had not seen the instructions of others, and voted`);
    const standing = current.votes.filter(
      (one) => this.#seats.isOfSame(one, vote) && !this.#seats.isLost(one, current),
    );
    const earlier = standing[0];
    must(
      earlier === undefined || decision.type !== 'approve' || !earlier.agrees,
      9,
      `${by} voted twice for one proposal`,
    );
    const isVote = decision.type === 'approve' || decision.type === 'deny';
    const isSaid = standing.some((one) => !isOfDesk(one.by) && (isVote || !one.agrees));
    must(!isOfDesk(by) || !isSaid, 9, `${by} replaced what the person said themselves`);
    const isFull = round.responses >= 256 && round.responded.has(this.#seats.speakerOf(by));
    must(!isFull, 13, 'the 257th response of an approval');
  }

  /** Whether a vote that counts has an instruction. */
  #hasWords(proposal: Proposal): boolean {
    return proposal.votes.some((vote) => vote.instruction !== null && !this.#seats.isLost(vote, proposal));
  }

  /** A refusal needs a cause. This names those that the model knows; a plain vote without one of them must count. */
  #refusedWithCause({ by, decision, seen, remember }: Respond, { call, round, current }: Asked, code: string): void {
    const isPlain = (decision.type === 'approve' || decision.type === 'deny') && remember === null;
    if (!isPlain || call.state !== 'awaiting_approval' || !this.#seats.mayBeAsked(call, by)) return;
    const isAsked = (rule: Rule): boolean => rule.stages.every(({ groups }) => this.#seats.isIn(by, groups));
    if (current.rules.some((rule) => rule.stages.length > 1 || !isAsked(rule))) return;
    if (current.votes.some((vote) => this.#seats.isOfSame(vote, { by, inPlaceOf: null }))) return;
    if (!this.#seats.isAssured(current.rules, by)) return;
    if (code === 'signature-required' && current.rules.some(({ signed }) => signed === true)) return;
    if ((seen === 'first' || seen === 'early') && round.proposals.length > 1) return;
    if (seen === 'early' && current.votes.some(({ instruction }) => instruction !== null)) return;
    if (isFull(round)) return;
    must(code === 'expired', 1, `${by} may answer, and was refused with ${code}`);
  }

  /** Those who may decide now, and all who must be able to. */
  decide(call: Call, proposal: Proposal, named: readonly string[]): void {
    for (const by of this.#seats.everybody()) {
      const { rules, votes } = proposal;
      const isNamed = named.includes(by);
      const mayBe = rules.some((rule) =>
        this.#seats.voicesOf(by).some((one) => this.#seats.isAsked(proposal, rule, one)),
      );
      const isAssured = this.#seats.isAssured(rules, by);
      must(
        !isNamed || (mayBe && isAssured && this.#seats.mayBeAsked(call, by)),
        6,
        `${by} is shown that they may decide`,
      );
      const isAsked = (rule: Rule): boolean => rule.stages.every(({ groups }) => this.#seats.isIn(by, groups));
      const isPlain = rules.every((rule) => rule.stages.length === 1 && isAsked(rule));
      const hasVoted = votes.some((vote) => this.#seats.isOfSame(vote, { by, inPlaceOf: null }));
      const round = call.rounds.at(-1);
      const hasRoom = round === undefined || !isFull(round);
      const isFree = isPlain && isAssured && !hasVoted && hasRoom && this.#seats.mayBeAsked(call, by);
      must(isNamed || !isFree, 6, `${by} may decide about call ${String(call.id)}, and is not shown it`);
    }
  }

  #recorded(vote: Vote, { call, round, current }: Asked, decision: Decision): void {
    const others = current.votes.filter((one) => !this.#seats.isOfSame(one, vote));
    const next = this.#proposed({ call, round, current }, decision);
    // An edit that changes nothing is a vote for what is asked.
    const isNew = next !== null && !(isSame(next.content, current.content) && isSame(next.rules, current.rules));
    // Law 12: otherwise a hidden value that is written again could be told from a guess.
    const isHiding = decision.type === 'edit' || decision.type === 'answer';
    const isWritten = isHiding && decision.secret !== null && decision.secret !== 'kept';
    if (decision.type !== 'approve') round.isDisputed = true;
    if (next === null || !(isNew || isWritten)) current.votes = [...others, vote];
    else {
      this.#seats.leavesApprovers(call, next.rules);
      must(this.#seats.isAssured(next.rules, vote.by), 1, `${vote.by} proposed what a rule asks more assurance for`);
      must(round.proposals.length < 64, 13, 'the 65th proposal of an approval');
      const votes = [...others.filter(({ agrees }) => !agrees), vote];
      const { by, inPlaceOf } = vote;
      round.proposals.push({ ...next, by, inPlaceOf, at: this.#book.now, votes, escalated: new Map() });
    }
  }

  /** What an edit or an answer proposes: the rule of the request holds, and that of the edited amount. */
  #proposed({ call, round, current }: Asked, decision: Decision): Pick<Proposal, 'content' | 'rules'> | null {
    const first = round.proposals[0]?.rules[0];
    must(first !== undefined, 1, 'a round has a rule');
    switch (decision.type) {
      case 'edit': {
        const { amount } = decision;
        const rule = this.#book.ruleOf(amount);
        must(rule.outcome !== 'block', 1, 'an edit that the policy blocks counted');
        const { content } = current;
        const kept =
          content.kind === 'run'
            ? content.secret
            : (round.proposals[0] as { content: { secret: string | null } }).content.secret;
        const secret = decision.secret === 'kept' ? kept : decision.secret;
        const asks = rule.outcome === undefined ? rule : anyApprover;
        const isAdded = (rule.outcome === undefined || call.wants) && asks.id !== first.id;
        return { content: { kind: 'run', amount, secret }, rules: isAdded ? [first, asks] : [first] };
      }
      case 'answer':
        return { content: { kind: 'answer', text: decision.text, secret: decision.secret }, rules: [first] };
      default:
        return null;
    }
  }

  /** Law 1: approved only by every requirement, and then it must be. */
  #resolved(call: Call, answer: Answer): States {
    const round = call.rounds.at(-1);
    const proposal = round?.proposals.at(-1);
    const shown = answer.calls.get(call.id);
    must(round !== undefined && proposal !== undefined && shown !== undefined, 1, 'an approval has a proposal');
    if (shown.state === 'approved' || shown.state === 'succeeded') {
      must(
        this.#seats.mayBeApproved(proposal),
        1,
        `approved without all that it needs: ${JSON.stringify(proposal.votes)}`,
      );
      const instructions = this.#seats.counted(proposal, true).map((vote) => vote.instruction);
      const { content } = proposal;
      const { amount, secret } = content.kind === 'run' ? content : call;
      call.approved = { amount, secret, instructions };
      round.end = { as: 'person', at: this.#book.now };
      instructed(call, shown.instruction);
      return new Map([[call.id, [content.kind === 'run' ? 'approved' : 'succeeded']]]);
    }
    if (shown.state === 'denied') {
      must(this.#seats.mayBeDenied(proposal), 1, 'denied without enough refusals');
      round.end = { as: 'denied', at: this.#book.now };
      const endsRun = proposal.rules.some((rule) => rule.endsRun === true);
      const ended = endsRun ? cancellableIn(this.#book, runOf(call.id), call.by) : [];
      if (endsRun) this.#grants.endOfRun(runOf(call.id), call.by);
      return new Map(
        [...ended.map(({ id }) => [id, 'cancelled'] as const), [call.id, 'denied'] as const].map(([id, state]) => [
          id,
          [state],
        ]),
      );
    }
    must(
      !this.#seats.mustBeApproved(proposal) || this.#seats.mayBeDenied(proposal),
      1,
      'everybody agreed, and it is not approved',
    );
    return new Map([[call.id, ['awaiting_approval']]]);
  }
}

/** What an approval shows is not more than 1 MiB. */
const lettersMax = 2 ** 20;

/** Whether an approval may have no room for one more response, with what else it shows. */
const isFull = ({ responses, letters }: Round): boolean => responses >= 256 || letters > lettersMax - 2 ** 16;

/** Law 7: only the instruction of a vote that counted. */
export function instructed({ approved }: Call, instruction: string | null): void {
  const strangers = (instruction ?? '')
    .split('\n\n')
    .filter((one) => one !== '' && !approved?.instructions.includes(one));
  must(strangers.length === 0, 7, `"${strangers.join('", "')}" is no instruction of a vote that counts`);
}

/**
 * Whether the request of a call can be read, so that it can run. The values of an edit that ended are of no interest: people
 * are asked about the request again.
 */
export const isReadable = ({ isErased, secret }: Call): boolean => !isErased || secret === null;
