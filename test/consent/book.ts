import type { Agent, Answer, Arguments, Asked, Content, Policy, Rule } from './words.ts';
import { together } from './joint.ts';
import { leftOut, runOf } from './world.ts';

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
  /** The groups with which it was given. */
  readonly groups: readonly Asked[];
}

export interface Proposal {
  readonly content: Content;
  readonly rules: readonly Rule[];
  /** Who proposed it; null: the agent. */
  readonly by: string | null;
  /** In whose place they did. */
  readonly inPlaceOf: string | null;
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
  /** How long the words of all of them are. */
  letters: number;
  proposals: Proposal[];
  /** How it ended, and when. `person`: a person approved it. */
  end: { readonly as: 'denied' | 'person' | 'other'; readonly at: number } | null;
}

/** The all-or-nothing batch of a call. A rule gives it no name. */
export interface Batch {
  readonly name: string | null;
  readonly by: Agent;
  readonly run: number;
  readonly members: readonly number[];
  hasBegun: boolean;
}

/** The place of a sequential call in its queue: those of one principal, in one run and inside one call. */
export interface Turn {
  place: number;
  isWaiting: boolean;
  /** What comes at its turn: people are asked by this rule; null: it is allowed. */
  question: { readonly rule: Rule; readonly expiresIn: number | null } | null;
  /** The grant that covers it. */
  grant: number | null;
  /** A person ordered another try, so it runs beside the call whose turn it is. */
  isBeside: boolean;
}

export interface Call extends Arguments {
  readonly id: number;
  readonly by: Agent;
  readonly as: Agent;
  readonly onBehalfOf: string | null;
  readonly inside: number | null;
  readonly tool: 'pay' | 'gift';
  /** The request wanted people to be asked. */
  readonly wants: boolean;
  readonly batch: Batch | null;
  turn: Turn | null;
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
  places = 0;

  constructor(policy: Policy) {
    this.policy = policy;
  }

  /** Law 16: where the amount is left out, every rule that asks counts. */
  ruleOf(amount: number): Rule {
    const [first, ...others] = this.policy.rules.filter(({ outcome }) => outcome === undefined);
    if (amount === leftOut && first !== undefined) return together([first, ...others]);
    const rule = this.policy.rules.findLast(({ from }) => amount >= from);
    must(rule !== undefined, 1, 'the policy has a rule for every amount');
    return rule;
  }

  /** The call, and those around it. */
  around(call: Call): readonly Call[] {
    const outer = call.inside === null ? undefined : this.calls.get(call.inside);
    return outer === undefined ? [call] : [call, ...this.around(outer)];
  }

  /** Whether the call around this one was cancelled, or one of the same principal further out. */
  isInsideCancelled({ inside, by }: Pick<Call, 'inside' | 'by'>): boolean {
    const outer = inside === null ? undefined : this.calls.get(inside);
    const around = outer === undefined ? [] : this.around(outer);
    return around.some((one) => one.state === 'cancelled' && (one === outer || one.by === by));
  }

  /** Puts a call at the end of its queue. */
  queue(call: Call): void {
    this.places += 1;
    call.turn = { place: this.places, isWaiting: true, question: null, grant: null, isBeside: false };
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

/** The calls that a principal can still cancel with a run, and inside it. */
export function cancellableIn(book: Book, run: number, by: Agent): readonly Call[] {
  const isIn = (call: Call): boolean => book.around(call).some((outer) => outer.by === by && runOf(outer.id) === run);
  return [...book.calls.values()].filter((call) => call.by === by && isCancellable(call) && isIn(call));
}

/** Whether a call waits for those before it, so that no person is asked about it. */
export const isWaiting = ({ turn }: Call): boolean => turn?.isWaiting === true;

/** Whether a call has ended without a run. */
export const hasEnded = (state: string): boolean => ['denied', 'expired', 'cancelled', 'blocked'].includes(state);

/** Whether values of a call are hidden, in its request or in what people proposed. */
export function hasSecrets({ secret, rounds }: Call): boolean {
  const all = rounds.flatMap(({ proposals }) => proposals.map(({ content }) => content));
  return secret !== null || all.some((content) => content.secret !== null);
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
    // `Turns` judges whether its turn has come.
    const isTurn = isWaiting(call) && !shown.waits && atTurn(call).includes(shown.state);
    must(
      states.includes(shown.state) || isEnded || isTurn,
      expected.has(id) ? 1 : 10,
      `call ${String(id)} is ${shown.state} and not ${states.join(' or ')}`,
    );
  }
  for (const [id, call] of book.calls) call.state = answer.calls.get(id)?.state ?? call.state;
  for (const call of book.calls.values()) isWhole(book, call);
}

/** What may become of a call at its turn. Where its people may be too few by now, it ends. */
function atTurn({ onBehalfOf, inside }: Call): readonly string[] {
  const isNamed = onBehalfOf !== null || inside !== null;
  return ['allowed', 'awaiting_approval', 'blocked', ...(isNamed ? ['cancelled'] : [])];
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
