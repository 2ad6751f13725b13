import { must } from './book.ts';
import type { Book, Call, Proposal, Vote } from './book.ts';
import { folded, FrontEnd } from './front-end.ts';
import type { Asked, Delegation, People, Rule } from './words.ts';
import { deskPeople, isOfDesk, unsure } from './world.ts';

/** Who gives a vote, and in whose place. */
export type Voice = Pick<Vote, 'by' | 'inPlaceOf'>;

/** Who may fill which seat, and whose votes count. */
export class Seats {
  readonly #book: Book;
  readonly #people: People;
  readonly #delegations: readonly Delegation[];
  readonly #removed = new Set<string>();
  /** How often the token of a person was replaced. */
  readonly #renewed = new Map<string, number>();
  /** The person behind a principal, where it is another name of one. */
  readonly #person = new Map<string, string>();
  readonly desk = new FrontEnd();

  constructor(book: Book, people: People, delegations: readonly Delegation[]) {
    this.#book = book;
    this.#people = people;
    this.#delegations = delegations;
  }

  /** The person of a principal. */
  who(principal: string): string {
    const name = folded(principal);
    return this.#person.get(name) ?? name;
  }

  identify(principal: string, as: string): void {
    this.#person.set(folded(principal), this.who(as));
  }

  remove(principal: string): void {
    this.#removed.add(principal);
  }

  renew(principal: string): void {
    this.#renewed.set(principal, this.tokenOf(principal) + 1);
  }

  /** The token that a person has now. */
  tokenOf(principal: string): number {
    return isOfDesk(principal) ? this.desk.token : (this.#renewed.get(principal) ?? 0);
  }

  isRemoved(principal: string): boolean {
    return isOfDesk(principal) ? !this.desk.isOpen : this.#removed.has(principal);
  }

  /** Whether this principal may respond in the place of another one now. */
  isDelegate(principal: string, of: string): boolean {
    const { now } = this.#book;
    const isNow = ({ from, to, begin, end }: Delegation): boolean =>
      from === of && to === principal && begin <= now && now < end;
    return !this.isRemoved(of) && this.#delegations.some(isNow);
  }

  everybody(): readonly string[] {
    return [...Object.keys(this.#people), ...this.desk.people()];
  }

  /** The ways in which a principal may respond now: in their own right, and for those who delegated to them. */
  voicesOf(by: string): readonly Voice[] {
    const others = this.#delegations.filter(({ from, to }) => to === by && this.isDelegate(by, from));
    return [{ by, inPlaceOf: null }, ...others.map(({ from }) => ({ by, inPlaceOf: from }))];
  }

  /** The people of a vote: who gave it, and in whose place. */
  #behind({ by, inPlaceOf }: Voice): readonly string[] {
    return [this.who(by), ...(inPlaceOf === null ? [] : [this.who(inPlaceOf)])];
  }

  isOfSame(one: Voice, other: Voice): boolean {
    const people = this.#behind(one);
    return this.#behind(other).some((person) => people.includes(person));
  }

  /** By whose responses the limit of an approval counts: a front end uses up nothing that its people have elsewhere. */
  speakerOf(principal: string): string {
    return isOfDesk(principal) ? folded(principal) : this.who(principal);
  }

  /** Law 8: whether the person of a vote has lost the right to it, or the group that gave it a seat, or the token that gave it is gone. */
  isLost(vote: Vote, proposal: Proposal): boolean {
    const { by, inPlaceOf, token, groups } = vote;
    if (this.isRemoved(by) || token !== this.tokenOf(by)) return true;
    if (inPlaceOf !== null && !this.isDelegate(by, inPlaceOf)) return true;
    const isIn = (own: readonly Asked[]): boolean => proposal.rules.some((rule) => hasSeat(proposal, rule, own));
    return isIn(groups) && !isIn(this.#groupsNow(vote));
  }

  /** The groups of a vote that its person still has. */
  #groupsNow(vote: Vote): readonly Asked[] {
    const now = this.groupsOf(vote);
    return vote.groups.filter((group) => now.includes(group));
  }

  /** The groups of a principal, or of the one in whose place they respond. */
  groupsOf({ by, inPlaceOf }: Voice): readonly Asked[] {
    const own = inPlaceOf ?? by;
    const groups = isOfDesk(own) ? this.desk.groupsOf(own) : (this.#people[own] ?? []);
    return [...(isOfDesk(by) ? this.desk.within(groups) : groups), 'anyone'];
  }

  /** Whether the assurance of a person is enough for all of these rules. */
  isAssured(rules: readonly Rule[], principal: string): boolean {
    const isSure = principal !== unsure && deskPeople[principal]?.assurance !== 'low';
    return isSure || !rules.some(({ assured }) => assured === true);
  }

  isIn(principal: string, groups: readonly Asked[]): boolean {
    return this.groupsOf({ by: principal, inPlaceOf: null }).some((group) => groups.includes(group));
  }

  /** All people of these groups with a token of their own. */
  approvers(groups: readonly Asked[]): readonly string[] {
    return Object.keys(this.#people).filter((one) => !this.isRemoved(one) && this.isIn(one, groups));
  }

  /** Whether a call is the request of this person: it, or a call around it, acts for them. */
  isOwn(call: Call, principal: string): boolean {
    return this.#book.actsFor(call).some((name) => this.who(name) === this.who(principal));
  }

  /** Law 4: the people for whom a call acts are not all who could fill a seat of these rules. */
  leavesApprovers(call: Call, rules: readonly Rule[]): void {
    const named = this.#book.actsFor(call).map((one) => this.who(one));
    for (const { groups } of rules.flatMap(({ stages }) => stages)) {
      const people = this.approvers(groups);
      const isOther = this.desk.hasCrowd(groups) || people.some((one) => !named.includes(this.who(one)));
      const isLeft = named.length === 0 || people.length === 0 || isOther;
      must(isLeft, 4, `no approver of ${groups.join(', ')} is left without ${named.join(', ')}`);
    }
  }

  /** Whether so many people could decide about a call by this rule as it asks for. */
  couldDecide(call: Call, { stages }: Rule): boolean {
    return stages.every(({ groups, approve }) => {
      const people = this.approvers(groups).filter((one) => !this.isOwn(call, one));
      return this.desk.hasCrowd(groups) || new Set(people.map((one) => this.who(one))).size >= approve;
    });
  }

  /** Whether this principal may be asked about a call at all. */
  mayBeAsked(call: Call, principal: string): boolean {
    return !this.isRemoved(principal) && !this.isOwn(call, principal);
  }

  /** Whether this principal could approve a call by this rule alone. */
  isEnough(rule: Rule, principal: string): boolean {
    const [first, ...more] = rule.stages;
    return first !== undefined && more.length === 0 && first.approve === 1 && this.isIn(principal, first.groups);
  }

  /** Whether a voice has a seat for this rule, or for its escalation. */
  isAsked(proposal: Proposal, rule: Rule, voice: Voice): boolean {
    return hasSeat(proposal, rule, this.groupsOf(voice));
  }

  /** The votes that count, one of each person: what they said themselves before what a front end says. */
  counted(proposal: Proposal, agrees: boolean): readonly Vote[] {
    const counted: Vote[] = [];
    const ownFirst = proposal.votes.toSorted((one, other) => Number(isOfDesk(one.by)) - Number(isOfDesk(other.by)));
    for (const vote of ownFirst) {
      if (vote.agrees !== agrees || this.isLost(vote, proposal)) continue;
      if (!counted.some((one) => this.isOfSame(one, vote))) counted.push(vote);
    }
    return counted;
  }

  /** Whether the people of these votes can fill all seats of these rules, each one. */
  canFill(proposal: Proposal, rules: readonly Rule[], votes: readonly Vote[]): boolean {
    const seats = rules.flatMap((rule) =>
      rule.stages.flatMap(({ groups, approve }) =>
        Array.from({ length: approve }, () => [...groups, ...addedGroups(proposal, rule)]),
      ),
    );
    const place = (seat: number, free: readonly Vote[]): boolean => {
      const groups = seats[seat];
      if (groups === undefined) return true;
      return free.some((vote) => {
        const others = free.filter((one) => one !== vote);
        return this.#groupsNow(vote).some((group) => groups.includes(group)) && place(seat + 1, others);
      });
    };
    return place(0, votes);
  }

  mayBeApproved(proposal: Proposal): boolean {
    const votes = this.counted(proposal, true);
    const rules = proposal.rules.flatMap((rule) => rule.parts ?? [rule]);
    return rules.every((rule) => this.canFill(proposal, [rule], votes));
  }

  mustBeApproved(proposal: Proposal): boolean {
    // Of a person who said both under two names, the refusal may count.
    const refusing = this.counted(proposal, false);
    const votes = this.counted(proposal, true).filter((vote) => !refusing.some((one) => this.isOfSame(one, vote)));
    return this.canFill(proposal, proposal.rules, votes);
  }

  mayBeDenied(proposal: Proposal): boolean {
    const deniers = this.counted(proposal, false).length;
    return proposal.rules.some((rule) => rule.stages.some(({ deny }) => deniers >= deny));
  }
}

/** Whether somebody of these groups has a seat for a rule, or for its escalation. */
function hasSeat(proposal: Proposal, rule: Rule, own: readonly Asked[]): boolean {
  const groups = [...rule.stages.flatMap((stage) => stage.groups), ...addedGroups(proposal, rule)];
  return own.some((group) => groups.includes(group));
}

/** The groups of an escalation that has begun. */
function addedGroups(proposal: Proposal, rule: Rule): readonly Asked[] {
  return rule.escalation !== null && proposal.escalated.has(rule.id) ? [rule.escalation.to] : [];
}
