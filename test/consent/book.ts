import type { Agent, Answer, Arguments, Content, Policy, Rule } from './words.ts';

/** A law that the product broke, and how. */
export class Broken extends Error {
  constructor(law: number, detail: string) {
    super(`law ${String(law)}: ${detail}`);
  }
}

export function must(holds: boolean, law: number, detail: string): asserts holds {
  if (!holds) throw new Broken(law, detail);
}

export const isSame = (one: unknown, other: unknown): boolean => JSON.stringify(one) === JSON.stringify(other);

export interface Vote {
  readonly by: string;
  readonly inPlaceOf: string | null;
  readonly agrees: boolean;
  readonly instruction: string | null;
  /** Which token of its person gave it, from 0. */
  readonly token: number;
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
  /** Its place among all rounds of the world. */
  readonly nth: number;
  readonly askedAt: number;
  /** A shorter time that the agent asked for. */
  readonly expiresIn: number | null;
  /** A person refused, edited or answered, in this round. */
  isDisputed: boolean;
  /** The people who responded, and the number of responses. */
  readonly responded: Set<string>;
  responses: number;
  proposals: Proposal[];
  /** How it ended, and when. `person`: a person approved it. */
  end: { readonly as: 'denied' | 'person' | 'other'; readonly at: number } | null;
}

/** The all-or-nothing batch of a call. */
export interface Batch {
  readonly name: string;
  readonly by: Agent;
  readonly run: number;
  readonly members: readonly number[];
  hasBegun: boolean;
}

export interface Call extends Arguments {
  readonly id: number;
  readonly by: Agent;
  readonly as: Agent;
  readonly onBehalfOf: string | null;
  readonly inside: number | null;
  readonly batch: Batch | null;
  readonly rounds: Round[];
  state: string;
  approved: (Arguments & { readonly instructions: readonly (string | null)[] }) | null;
  claims: { readonly key: string; readonly attempt: number }[];
  /** The hidden values that are recorded of it are gone. */
  isErased: boolean;
}

/** What the model knows of the world: the calls, the policy and the time in seconds. */
export class Book {
  readonly calls = new Map<number, Call>();
  policy: Policy;
  now = 0;
  /** Until when the service was stopped last. */
  stoppedUntil = -1;
  rounds = 0;

  constructor(policy: Policy) {
    this.policy = policy;
  }

  ruleOf(amount: number): Rule {
    const rule = this.policy.rules.findLast(({ from }) => amount >= from);
    must(rule !== undefined, 1, 'the policy has a rule for every amount');
    return rule;
  }

  /** The call, and those around it. */
  around(call: Call): readonly Call[] {
    const outer = call.inside === null ? undefined : this.calls.get(call.inside);
    return outer === undefined ? [call] : [call, ...this.around(outer)];
  }

  /** The people for whom a call and those around it act. */
  actsFor(call: Call): readonly string[] {
    return this.around(call).flatMap(({ onBehalfOf }) => (onBehalfOf === null ? [] : [onBehalfOf]));
  }
}

/** Whether a call may still run or be decided about, before it was claimed. */
export const isOpen = (state: string): boolean => ['awaiting_approval', 'allowed', 'approved'].includes(state);

/** Whether a call can still be cancelled: it was never claimed, and nor was another one of its batch. */
export const isCancellable = ({ state, claims, batch }: Call): boolean =>
  isOpen(state) && claims.length === 0 && batch?.hasBegun !== true;

/** Whether a call has ended without a run. */
export const hasEnded = (state: string): boolean => ['denied', 'expired', 'cancelled', 'blocked'].includes(state);

/** Whether values of a call are hidden, in its request or in what people proposed. */
export function hasSecrets({ secret, rounds }: Call): boolean {
  const all = rounds.flatMap(({ proposals }) => proposals.map(({ content }) => content));
  return secret !== null || all.some((content) => content.kind === 'run' && content.secret !== null);
}

export type States = ReadonlyMap<number, readonly string[]>;

/**
 * Takes over the state of each call, which must be one of those that are expected of it; the others are as before, but for
 * the members of an all-or-nothing batch of which one ended, and for what runs inside a cancelled call.
 */
export function takeOver(book: Book, answer: Answer, expected: States = new Map()): void {
  for (const [id, call] of book.calls) {
    const shown = answer.calls.get(id);
    must(shown !== undefined, 1, `call ${String(id)} is not shown`);
    const states = expected.get(id) ?? [call.state];
    const isEnded = isClosedWithBatch(call, shown.state, answer) || isEndedInside(book, call, shown.state, answer);
    must(
      states.includes(shown.state) || isEnded,
      expected.has(id) ? 1 : 10,
      `call ${String(id)} is ${shown.state} and not ${states.join(' or ')}`,
    );
  }
  for (const [id, call] of book.calls) call.state = answer.calls.get(id)?.state ?? call.state;
  for (const call of book.calls.values()) isWhole(book, call);
}

/** The open members of a batch are cancelled when one of them ended without a run. */
function isClosedWithBatch({ id, batch, state }: Call, shown: string, answer: Answer): boolean {
  if (batch === null || batch.hasBegun || shown !== 'cancelled' || !isOpen(state)) return false;
  return batch.members.some((one) => one !== id && hasEnded(answer.calls.get(one)?.state ?? ''));
}

/** What a principal runs inside a call of its own ends with that. */
function isEndedInside(book: Book, call: Call, shown: string, answer: Answer): boolean {
  if (shown !== 'cancelled' || !isOpen(call.state)) return false;
  const outer = book.around(call).filter(({ id, by }) => id !== call.id && by === call.by);
  return outer.some(({ id }) => answer.calls.get(id)?.state === 'cancelled');
}

/** All calls of a batch may run, or none. */
function isWhole({ calls }: Book, { batch, id }: Call): void {
  if (batch === null) return;
  const states = batch.members.map((one) => calls.get(one)?.state ?? 'missing');
  const ended = states.some(hasEnded);
  must(!batch.hasBegun || !ended, 1, `a call of the batch of call ${String(id)} ran, and another one ended`);
  must(!ended || !states.some(isOpen), 2, `a call of the batch of call ${String(id)} ended, and another one is open`);
}
