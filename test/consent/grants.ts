import { must } from './book.ts';
import type { Book, Call } from './book.ts';
import { anyApprover } from './joint.ts';
import type { Seats } from './seats.ts';
import type { Agent, Answer, Arguments, Command, Grant, Match, Remember, Rule } from './words.ts';
import { leftOut, runOf } from './world.ts';

interface Granted {
  readonly by: string;
  readonly match: Match;
  readonly run: number | null;
  readonly as: Agent | null;
  /** The only principal whose calls it covers. */
  readonly of: Agent | null;
  readonly end: number;
  readonly maxUses: number | null;
  readonly tool: Call['tool'];
  /** The highest risk of the calls that it covers. One for high risk needs a second person. */
  readonly risk: number;
  /** The call with whose approval it was remembered. */
  readonly remembered: Call | null;
  confirmedBy: string | null;
  isRevoked: boolean;
  readonly uses: Set<number>;
}

const high = 2;
const riskOf = (rule: Rule): number => (rule === anyApprover ? 0 : rule.isHigh ? high : 1);

const isGuess = (match: Match): boolean => (match.of === 'guess' || match.of === 'exact') && match.is.secret !== null;

/** The standing grants, and the calls that they cover. */
export class Grants {
  readonly #book: Book;
  readonly #seats: Seats;
  readonly #grants: Granted[] = [];

  constructor(book: Book, seats: Seats) {
    this.#book = book;
    this.#seats = seats;
  }

  grant({ by, match, run, as, of, expiresIn, maxUses }: Grant, answer: Answer): void {
    // The policy has no default, so everybody may grant what no rule judges. That covers no call of a world.
    const risk = Math.max(0, ...this.#rulesFor(by).map(riskOf));
    // The second person would see no arguments.
    const isUnseen = risk === high && match.of === 'exact';
    if (answer.refused !== null)
      return must(this.#seats.isRemoved(by) || isUnseen, 9, `a grant was refused with ${answer.refused}`);
    must(!this.#seats.isRemoved(by), 8, `${by} was removed, and gave a grant`);
    must(!isUnseen, 9, `${by} gave a grant of high risk for arguments that nobody else sees`);
    this.#add({
      by,
      match,
      run,
      as,
      of,
      end: this.#book.now + expiresIn,
      maxUses,
      tool: 'pay',
      risk,
      remembered: null,
    });
  }

  /** An approval that a person gave alone, and wants remembered for calls like it. */
  remember(
    by: string,
    { match, scope, expiresIn, maxUses }: Remember,
    call: Call,
    args: Arguments,
    rules: readonly Rule[],
  ): void {
    this.#add({
      ...{ by, match: match === 'tool' ? { of: 'any' } : { of: 'exact', is: args } },
      ...{ run: scope === 'run' ? runOf(call.id) : null, as: call.as, of: call.by },
      ...{ end: this.#book.now + expiresIn, maxUses, tool: call.tool, remembered: call },
      risk: Math.max(...rules.map(riskOf)),
    });
  }

  #add(granted: Omit<Granted, 'confirmedBy' | 'isRevoked' | 'uses'>): void {
    this.#grants.push({ ...granted, confirmedBy: null, isRevoked: false, uses: new Set() });
  }

  #rulesFor(principal: string) {
    const { rules } = this.#book.policy;
    return rules.filter((rule) => rule.outcome === undefined && this.#seats.isEnough(rule, principal));
  }

  confirm({ grant, by }: Extract<Command, { type: 'confirm' | 'revoke' }>, answer: Answer): void {
    const granted = this.#grants[grant];
    if (answer.refused !== null || granted === undefined || granted.confirmedBy !== null) return;
    must(
      granted.risk === high && !granted.isRevoked && granted.end > this.#book.now,
      9,
      'a grant that is over was confirmed',
    );
    must(!this.#seats.isRemoved(by), 8, `${by} was removed, and confirmed a grant`);
    must(this.#seats.who(by) !== this.#seats.who(granted.by), 9, `${by} gave this grant, and confirmed it`);
    must(
      this.#rulesFor(by).some((rule) => rule.isHigh),
      9,
      `${by} confirmed a grant that they could not give`,
    );
    granted.confirmedBy = by;
  }

  revoke({ grant }: Extract<Command, { type: 'confirm' | 'revoke' }>, answer: Answer): void {
    const granted = this.#grants[grant];
    if (answer.refused === null && granted !== undefined) granted.isRevoked = true;
  }

  /** Which grant covers a new call about which this rule asks: the first one that has a use left. */
  covering(call: Call, rule: Rule): number | null {
    const found = this.#grants.findIndex((granted) => this.#covers(granted, call, rule));
    return found === -1 ? null : found;
  }

  /** Whether a grant that covers a call would cover it now, under this rule. */
  stillCovers(grant: number, call: Call, rule: Rule): boolean {
    const granted = this.#grants[grant];
    return granted !== undefined && this.#covers(granted, call, rule);
  }

  use(grant: number, call: Call): void {
    this.#grants[grant]?.uses.add(call.id);
  }

  /** A use that was not needed: the call is asked about after all. */
  leave(grant: number, call: Call): void {
    this.#grants[grant]?.uses.delete(call.id);
  }

  /** The grants for a run end when a principal, or a denial of its call, ends the run: but for those that name another one. */
  endOfRun(run: number, by: Agent): void {
    for (const granted of this.#grants) {
      if (granted.run === run && (granted.of ?? by) === by) granted.isRevoked = true;
    }
  }

  /** Law 12: a grant whose author guessed a hidden value. */
  guesses(grant: number | null): boolean {
    const granted = grant === null ? undefined : this.#grants[grant];
    return granted !== undefined && granted.remembered === null && isGuess(granted.match);
  }

  /** Law 14: whether a grant is of another principal's calls. */
  isOfAnother(grant: number | null, call: Call): boolean {
    const of = grant === null ? undefined : this.#grants[grant]?.of;
    return of !== undefined && of !== null && of !== call.by;
  }

  #covers(granted: Granted, call: Call, rule: Rule): boolean {
    const { by, run, as, of, maxUses, risk, confirmedBy, uses } = granted;
    if (!this.#isLive(granted) || granted.tool !== call.tool) return false;
    if (maxUses !== null && uses.size >= maxUses && !uses.has(call.id)) return false;
    if ((run ?? runOf(call.id)) !== runOf(call.id) || (as ?? call.as) !== call.as || (of ?? call.by) !== call.by)
      return false;
    if (riskOf(rule) > risk || !this.#matches(granted, call)) return false;
    return [by, ...(confirmedBy === null ? [] : [confirmedBy])].every(
      (person) =>
        !this.#seats.isRemoved(person) &&
        !this.#seats.isOwn(call, person) &&
        // A call of high risk needs two people, each of whom could approve it.
        ((person !== by && riskOf(rule) < high) || this.#seats.isEnough(rule, person)),
    );
  }

  #matches({ match, remembered }: Granted, { amount, secret }: Arguments): boolean {
    switch (match.of) {
      case 'any':
        return true;
      case 'small':
        return amount !== leftOut && amount <= 100;
      case 'guess':
        return false;
      case 'exact': {
        const isKnown = secret === null || (remembered !== null && !remembered.isErased);
        return isKnown && match.is.amount === amount && match.is.secret === secret;
      }
    }
  }

  /** The product shows each grant as it is. */
  check({ grants }: Answer): void {
    must(grants.length === this.#grants.length, 1, 'a grant that was given is not shown');
    for (const [index, granted] of this.#grants.entries()) {
      const { uses, maxUses } = granted;
      must(grants[index]?.uses === uses.size, 1, `grant ${String(index)} has another number of uses`);
      must(maxUses === null || uses.size <= maxUses, 1, `grant ${String(index)} was used too often`);
      const isActive = this.#isLive(granted) && uses.size < (maxUses ?? Infinity);
      must(grants[index].isActive === isActive, 10, `grant ${String(index)} is not shown as it is`);
    }
  }

  #isLive({ isRevoked, end, risk, confirmedBy }: Granted): boolean {
    return !isRevoked && end > this.#book.now && (risk !== high || confirmedBy !== null);
  }
}
