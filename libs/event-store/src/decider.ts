import type { LedgerEvent, Refusal } from '@countersign/contracts';

/** What a decider answers: the events to append (none when the log already says it), or a "no". */
export type Decision<Event> =
  | { readonly status: 'accepted'; readonly events: readonly Event[] }
  | { readonly status: 'refused'; readonly refusal: Refusal };

/** The rule of an aggregate, as handling a command needs it. The store knows its shape alone; the rules live elsewhere. */
export interface Decider<State, Command, Event extends LedgerEvent> {
  readonly initialState: () => State;
  readonly decide: (command: Command, state: State) => Decision<Event>;
  readonly evolve: (state: State, event: Event) => State;
  /** Nothing more is expected of the stream, so it is not kept in memory. Default: of none. */
  readonly isTerminal?: (state: State) => boolean;
}
