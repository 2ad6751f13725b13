import type { Content, Group, People, Rule } from './words.ts';

export interface Vote {
  readonly by: string;
  readonly agrees: boolean;
  readonly instruction: string | null;
}

export interface Proposal {
  readonly content: Content;
  readonly rules: readonly Rule[];
  readonly by: string | null;
  readonly at: number;
  votes: Vote[];
  /** The rules whose escalation the product showed to have begun, and when. */
  readonly escalated: Map<string, number>;
}

export interface Round {
  readonly askedAt: number;
  /** A shorter time that the agent asked for. */
  readonly expiresIn: number | null;
  /** Somebody refused, edited or answered, in this round. */
  isDisputed: boolean;
  proposals: Proposal[];
}

export interface Call {
  readonly amount: number;
  readonly onBehalfOf: string | null;
  readonly rounds: Round[];
  state: string;
  approved: { readonly amount: number; readonly instructions: readonly (string | null)[] } | null;
  claims: { readonly key: string; readonly attempt: number }[];
}

/** Who may fill which seat, and whose votes count. */
export class Seats {
  readonly #people: People;
  readonly #removed = new Set<string>();
  /** The person behind a principal, where it is another name of one. */
  readonly #person = new Map<string, string>();

  constructor(people: People) {
    this.#people = people;
  }

  /** The person of a principal. */
  who(principal: string): string {
    return this.#person.get(principal) ?? principal;
  }

  identify(principal: string, as: string): void {
    this.#person.set(principal, this.who(as));
  }

  remove(principal: string): void {
    this.#removed.add(principal);
  }

  isRemoved(principal: string): boolean {
    return this.#removed.has(principal);
  }

  /** All people of these groups. */
  approvers(groups: readonly Group[]): readonly string[] {
    const isIn = (one: string): boolean => this.#people[one]?.some((group) => groups.includes(group)) ?? false;
    return Object.keys(this.#people).filter((one) => !this.isRemoved(one) && isIn(one));
  }

  /** The groups that have a seat for this rule, those of its escalation included. */
  #groupsOf(proposal: Proposal, rule: Rule): readonly Group[] {
    const added = rule.escalation !== null && proposal.escalated.has(rule.id) ? [rule.escalation.to] : [];
    return [...rule.stages.flatMap(({ groups }) => groups), ...added];
  }

  isAsked(proposal: Proposal, rule: Rule, principal: string): boolean {
    const groups = this.#people[principal] ?? [];
    return this.#groupsOf(proposal, rule).some((group) => groups.includes(group));
  }

  counted(proposal: Proposal, agrees: boolean): readonly string[] {
    const voters = proposal.votes
      .filter((vote) => vote.agrees === agrees && !this.isRemoved(vote.by))
      .map(({ by }) => by);
    return [...new Map(voters.map((by) => [this.who(by), by])).values()];
  }

  /** Whether distinct people of these can fill all seats of these rules. */
  canFill(proposal: Proposal, rules: readonly Rule[], people: readonly string[]): boolean {
    const seats = rules.flatMap((rule) =>
      rule.stages.flatMap(({ groups, approve }) => {
        const added = rule.escalation !== null && proposal.escalated.has(rule.id) ? [rule.escalation.to] : [];
        return Array.from({ length: approve }, () => [...groups, ...added]);
      }),
    );
    const place = (seat: number, free: readonly string[]): boolean => {
      const groups = seats[seat];
      if (groups === undefined) return true;
      return free.some(
        (person) =>
          (this.#people[person] ?? []).some((group) => groups.includes(group)) &&
          place(
            seat + 1,
            free.filter((one) => one !== person),
          ),
      );
    };
    return place(0, people);
  }

  mayBeApproved(proposal: Proposal): boolean {
    const people = this.counted(proposal, true);
    return proposal.rules.every((rule) => this.canFill(proposal, [rule], people));
  }

  mustBeApproved(proposal: Proposal): boolean {
    // Of a person who said both under two names, the refusal may count.
    const refusing = this.counted(proposal, false).map((one) => this.who(one));
    const people = this.counted(proposal, true).filter((one) => !refusing.includes(this.who(one)));
    return this.canFill(proposal, proposal.rules, people);
  }

  mayBeDenied(proposal: Proposal): boolean {
    const deniers = this.counted(proposal, false).length;
    return proposal.rules.some((rule) => rule.stages.some(({ deny }) => deniers >= deny));
  }
}
