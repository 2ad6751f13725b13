import type { Refusal } from '@countersign/contracts';

/** What a decider answers: the events to append, or a "no" with a stable code. */
export type Decision<Event> =
  /** No events: the command repeats what the log already says. */
  | { readonly status: 'accepted'; readonly events: readonly Event[] }
  | { readonly status: 'refused'; readonly refusal: Refusal };

/** The whole rule of an aggregate as three pure functions: same input, same answer, on every machine and at any time. */
export interface Decider<State, Command, Event> {
  readonly initialState: () => State;
  readonly decide: (command: Command, state: State) => Decision<Event>;
  readonly evolve: (state: State, event: Event) => State;
  /** Nothing more is expected to happen; a late word is decided all the same. */
  readonly isTerminal: (state: State) => boolean;
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
export function accepted<Event>(...events: readonly Event[]): Decision<Event> {
  return { status: 'accepted', events };
}

/** A "no". `detail` is for people, `extra` for programs. */
export function refused(code: Refusal['code'], detail: string, extra?: Refusal['extra']): Decision<never> {
  return { status: 'refused', refusal: extra === undefined ? { code, detail } : { code, detail, extra } };
}
