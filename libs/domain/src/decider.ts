import type { ErrorCode, FieldError, Refusal, RefusalCode } from '@countersign/contracts';

/** A decider's result: the events to append, or a refusal with a stable code. */
export type RuleResult<Event> =
  /** No events: the command is already recorded. */
  | { readonly status: 'accepted'; readonly events: readonly Event[] }
  | { readonly status: 'refused'; readonly refusal: Refusal };

/** Folds the events of a stream into a state. Pure, so every machine gets the same state at any time. */
export interface Fold<State, Event> {
  readonly initialState: () => State;
  readonly evolve: (state: State, event: Event) => State;
  /** No further event is expected; a late command is decided all the same. */
  readonly isTerminal: (state: State) => boolean;
}

/** A fold, and the rules of its commands as one pure function. */
export interface Decider<State, Command, Event> extends Fold<State, Event> {
  readonly decide: (command: Command, state: State) => RuleResult<Event>;
}

/** The state that a stream's events lead to. */
export function fold<State, Command, Event>(
  decider: Pick<Decider<State, Command, Event>, 'initialState' | 'evolve'>,
  events: Iterable<Event>,
): State {
  let state = decider.initialState();
  for (const event of events) state = decider.evolve(state, event);
  return state;
}

/** The events to append; none when the command repeats what is recorded. */
export function accepted<Event>(...events: readonly Event[]): RuleResult<Event> {
  return { status: 'accepted', events };
}

/** A "no". `detail` is for people, `extra` for programs. */
export function refused(code: RefusalCode, detail: string, extra?: Refusal['extra']): RuleResult<never> {
  return { status: 'refused', refusal: extra === undefined ? { code, detail } : { code, detail, extra } };
}

/** A "no" with all the fields that are wrong. */
export function refusalOfFields(code: ErrorCode, errors: readonly FieldError[]): Refusal {
  return { code, detail: errors.map((one) => `${one.path}: ${one.message}`).join('; '), errors };
}
