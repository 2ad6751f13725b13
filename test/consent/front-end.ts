import type { Asked, Group } from './words.ts';
import { deskPeople, isOfDesk, toldOf } from './world.ts';

/** The front end, as the model knows it: its token, and for people of which groups that is. */
export class FrontEnd {
  #allowed: readonly Group[] | null = null;
  #tokens = 0;

  get isOpen(): boolean {
    return this.#allowed !== null;
  }

  /** Which token it has, from 1. */
  get token(): number {
    return this.#tokens;
  }

  open(groups: readonly Group[]): void {
    this.#allowed = groups;
    this.#tokens += 1;
  }

  narrow(groups: readonly Group[]): void {
    this.#allowed = this.#allowed?.filter((group) => groups.includes(group)) ?? null;
  }

  close(): void {
    this.#allowed = null;
  }

  people(): readonly string[] {
    return this.isOpen ? Object.keys(deskPeople) : [];
  }

  /** The groups of one of its people: what it says, and what the policy file says, where its token is for them. */
  groupsOf(person: string): readonly Group[] {
    const all = [...toldOf(person, this.#allowed ?? []), ...(deskPeople[person]?.filed ?? [])];
    return this.within(all);
  }

  /** Whose place its people may take: none gets a group that its token is not for. */
  within(groups: readonly Group[]): readonly Group[] {
    return groups.filter((group) => this.#allowed?.includes(group) === true);
  }

  /** Whether it may have any number of people who can fill a seat of these groups. */
  hasCrowd(groups: readonly Asked[]): boolean {
    return groups.some((group) => (group === 'anyone' ? this.isOpen : this.within([group]).length > 0));
  }
}

/** A name as votes are counted: people of a front end are compared without regard to case. */
export const folded = (principal: string): string => (isOfDesk(principal) ? principal.toLowerCase() : principal);
