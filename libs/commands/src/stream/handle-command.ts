import type {
  CalledTool,
  EventMetadata,
  LedgerEvent,
  LogEvent,
  NewEvent,
  RecordedEvent,
  Refusal,
} from '@countersign/contracts';
import { currentSchemaVersion, readablePart, upcast } from '@countersign/contracts';
import type { RuleResult, Fold } from '@countersign/domain';
import { EventStoreUnavailableError, noStream, repeatUntilKnown, storeBackoffMs } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import type { Clock, Ids } from '@countersign/runtime';
import { sleep } from '@countersign/runtime';
import { createFoldedStreams } from './folded-stream.js';
import { UnreadableStreamError, unreadableRefusal } from './unreadable-stream.js';
import type { FoldedStream } from './folded-stream.js';
import { createKeyedQueue } from './keyed-queue.js';
import { reusedKey } from './repeats.js';

/**
 * Decides on a state; called again when the state has changed meanwhile. `lateMs`: how many ms after their own times its
 * events were recorded, at most.
 */
export type Decide<State, Event> = (state: State, lateMs: number) => RuleResult<Event> | Promise<RuleResult<Event>>;

/** The metadata of a command's events. */
export interface CommandMeta<State = never, Event = never> {
  /** A repeat of a command carries the same id, and adds nothing. */
  readonly commandId: string;
  readonly tenant: string;
  readonly callId: string | null;
  /** Default: that of the stream's first event. */
  readonly runId?: string | null;
  /** Default: that of the stream's first event. */
  readonly tool?: CalledTool | undefined;
  /** Default: that of the stream's first event. */
  readonly traceparent?: string | undefined;
  /**
   * Decides on an empty stream and appends without a read; reads and decides again on a conflict. Only for commands
   * whose id derives from their content, because nothing else of a duplicate is compared.
   */
  readonly writeOnly?: boolean;
  /**
   * Returns whether the events of this id, in a stream with this state, are those of this command: an id that was used for another one
   * is refused. Default: they are.
   */
  readonly isRepeat?: (recorded: readonly Event[], state: State) => boolean;
}

/** The result of a command. */
export type CommandResult<State> =
  | {
      readonly status: 'accepted';
      readonly state: State;
      readonly revision: number;
      /** The position of the last event, new or existing: readers beyond it show this state. */
      readonly position: number;
      /** The events that this command recorded; empty when it was a duplicate, or when nothing is read back. */
      readonly events: readonly RecordedEvent[];
      /** The trace context of the stream. */
      readonly traceparent?: string | undefined;
      /** The command was recorded before. */
      readonly repeated: boolean;
    }
  | { readonly status: 'refused'; readonly refusal: Refusal; readonly state: State; readonly revision: number };

/** The dependencies of command handling. */
export interface CommandHandlerOptions<State, Event extends LedgerEvent> {
  readonly store: Pick<EventStore, 'append' | 'readStream' | 'lossOf'>;
  readonly fold: Fold<State, Event>;
  /** How many folded streams are cached. */
  readonly cacheSize: number;
  readonly clock: Clock;
  readonly ids: Ids;
}

/** Handles the commands of one kind of stream. */
export interface CommandHandler<State, Event> {
  /**
   * Load, decide, append at the expected revision; again from the load after a conflict.
   * A stream with an event that cannot be read is refused as `unreadable`, a repeated command on it too.
   * @throws EventStoreUnavailableError when nothing was written, OutcomeUnknownError when that is not known. Repeating
   * the command with the same id is safe after either.
   * @example
   * const result = await handleCommand(toolCallStream(callId), (state) => claimExecution(command, state), { commandId, tenant, callId });
   */
  readonly handleCommand: (
    stream: string,
    decide: Decide<State, Event>,
    meta: CommandMeta<State, Event>,
  ) => Promise<CommandResult<State>>;
  /**
   * A stream as the store has it now. It does not wait for commands in progress, so `decide` may call it.
   * @throws UnreadableStreamError
   */
  readonly load: (stream: string) => Promise<FoldedStream<State>>;
  /**
   * Like `load`, for readers that say themselves what an event that cannot be read means for them. It does not ask whether a
   * stream without events has lost them: most streams that are looked at are new.
   */
  readonly look: (stream: string) => Promise<FoldedStream<State>>;
  /**
   * Learns what a subscription of this process delivered, of streams of this kind, so that a command on them needs no read first. They
   * may be older than the store's, as any cached stream.
   */
  readonly learn: (events: readonly LogEvent[]) => void;
  /** Drops every cached stream: values in them were erased from the log. */
  readonly forget: () => void;
}

const conflictsMax = 12;

/**
 * A handler for one kind of stream in one store. Commands on one stream run one after the other instead of conflicting.
 */
export function createCommandHandler<State, Event extends LedgerEvent>(
  options: CommandHandlerOptions<State, Event>,
): CommandHandler<State, Event> {
  const { store, fold, clock, ids, cacheSize } = options;
  const streams = createFoldedStreams(store, fold, cacheSize);
  const inTurn = createKeyedQueue();

  const handleCommand: CommandHandler<State, Event>['handleCommand'] = async (stream, decide, meta) => {
    const looked = meta.writeOnly === true ? streams.unread() : streams.get(stream);
    let { folded, isFresh } = looked instanceof Promise ? await looked : looked;
    for (let conflicts = 0; conflicts <= conflictsMax;) {
      const decided = decideOn(folded, decide, meta);
      const answer = decided instanceof Promise ? await decided : decided;
      if (answer.status === 'append') {
        const written = await append(stream, folded, toEvents(ids, folded, answer.events, meta));
        if (written !== undefined) return written;
        if (conflicts > 0) await sleep(clock, storeBackoffMs(ids, conflicts));
        conflicts += 1;
        folded = await reload(stream, folded);
      } else {
        // A decision without events meets no conflict, so an outdated state would go unnoticed: it needs a fresh read.
        const latest = await whole(stream, isFresh ? folded : await streams.refresh(stream, folded));
        if (isSame(latest, folded)) return knownRepeat(store, stream, answer, meta);
        folded = latest;
      }
      isFresh = true;
    }
    throw new EventStoreUnavailableError(`${stream} is written too often at once: nothing was recorded, try again`);
  };
  const reload = async (stream: string, folded: FoldedStream<State>): Promise<FoldedStream<State>> => {
    const latest = await streams.refresh(stream, folded);
    if (latest.revision > folded.revision || latest.unreadable !== undefined) return latest;
    // A conflict without news: the store was put back to an older state, and what is kept never happened.
    streams.drop(stream);
    return whole(stream, await streams.refresh(stream));
  };
  /** A stream without events may have lost them: then nothing is decided on it either. */
  const whole = async (stream: string, folded: FoldedStream<State>): Promise<FoldedStream<State>> => {
    if (folded.revision !== noStream || folded.unreadable !== undefined) return folded;
    const loss = await store.lossOf?.(stream);
    return loss === undefined ? folded : { ...folded, unreadable: loss };
  };
  const stateAfter = (state: State, events: readonly NewEvent[]): State =>
    events.reduce((before, { type, data }) => fold.evolve(before, { type, data } as Event), state);
  const append = async (
    stream: string,
    folded: FoldedStream<State>,
    events: readonly NewEvent[],
  ): Promise<CommandResult<State> | undefined> => {
    try {
      const { revision: expected } = folded;
      const first = await store.append(stream, expected, events, { areNew: true });
      const result =
        first.status === 'unknown'
          ? await repeatUntilKnown({ store, clock, ids }, stream, expected, events, first.cause)
          : first;
      if (result.status === 'conflict') return undefined;
      const { revision, position } = result;
      if (result.events.length === 0) {
        // Not read back: these are the events to append, without their recorded metadata, so they are not cached.
        streams.drop(stream);
        return {
          status: 'accepted',
          state: stateAfter(folded.state, events),
          revision,
          position,
          events: [],
          repeated: false,
        };
      }
      const { state, traceparent } = streams.extend(stream, folded, result.events);
      return { status: 'accepted', state, revision, position, events: result.events, traceparent, repeated: false };
    } catch (error) {
      streams.drop(stream);
      throw error;
    }
  };
  const look = async (stream: string): Promise<FoldedStream<State>> => {
    const { folded, isFresh } = await streams.get(stream);
    return isFresh ? folded : streams.refresh(stream, folded);
  };
  return {
    handleCommand: (stream, decide, meta) => inTurn(stream, () => handleCommand(stream, decide, meta)),
    load: async (stream) => assertReadable(await whole(stream, await look(stream))),
    look,
    learn: (events) => {
      events.forEach(streams.learn);
    },
    forget: streams.forget,
  };
}

/** The stream. @throws UnreadableStreamError when an event in it cannot be read. */
export function assertReadable<State>(folded: FoldedStream<State>): FoldedStream<State> {
  if (folded.unreadable !== undefined) throw new UnreadableStreamError(unreadableRefusal(folded.unreadable));
  return folded;
}

/** The log recognises a repeated command by its id alone, and another process does not know what was sent under it first. */
async function knownRepeat<State, Event>(
  store: Pick<EventStore, 'readStream'>,
  stream: string,
  answer: CommandResult<State>,
  { commandId, isRepeat }: CommandMeta<State, Event>,
): Promise<CommandResult<State>> {
  if (answer.status === 'refused' || !answer.repeated || isRepeat === undefined) return answer;
  const { events } = readablePart(await store.readStream(stream));
  const own = events.filter(({ metadata }) => metadata.commandId === commandId).map((event) => upcast(event));
  const { state, revision } = answer;
  const isKnown = isRepeat(
    own.map(({ type, data }) => ({ type, data }) as Event),
    state,
  );
  return isKnown ? answer : { ...reusedKey, state, revision };
}

type Answer<State, Event> = CommandResult<State> | { readonly status: 'append'; readonly events: readonly Event[] };

function isSame<State>(one: FoldedStream<State>, other: FoldedStream<State>): boolean {
  return one.revision === other.revision && one.unreadable?.revision === other.unreadable?.revision;
}

/** The decision about a command on a stream. A promise only when `decide` needs one: most commands are decided synchronously. */
export function decideOn<State, Event>(
  folded: FoldedStream<State>,
  decide: Decide<State, Event>,
  meta: CommandMeta,
): Answer<State, Event> | Promise<Answer<State, Event>> {
  const { state, revision, position, commandIds, traceparent, unreadable, lateMs } = folded;
  // Fail closed: what the event means is unknown, so nothing is decided on the state before it.
  if (unreadable !== undefined) return { status: 'refused', refusal: unreadableRefusal(unreadable), state, revision };
  const nothing = { status: 'accepted', state, revision, position, traceparent, events: [] } as const;
  if (commandIds.includes(meta.commandId)) return { ...nothing, repeated: true };
  const answer = (decision: RuleResult<Event>): Answer<State, Event> => {
    if (decision.status === 'refused') return { ...decision, state, revision };
    const { events } = decision;
    return events.length === 0 ? { ...nothing, repeated: false } : { status: 'append', events };
  };
  const decided = decide(state, lateMs);
  return decided instanceof Promise ? decided.then(answer) : answer(decided);
}

function toEvents<State>(
  ids: Ids,
  folded: FoldedStream<State>,
  events: readonly LedgerEvent[],
  {
    commandId,
    tenant,
    callId,
    runId = folded.runId,
    tool = folded.tool,
    traceparent = folded.traceparent,
  }: CommandMeta,
): readonly NewEvent[] {
  const metadata: EventMetadata = {
    ...{ tenant, callId, runId, schemaVersion: currentSchemaVersion, commandId },
    ...(tool !== undefined && { tool }),
    ...(traceparent !== undefined && { traceparent }),
  };
  return events.map(({ type, data }) => ({
    // Of no other decision: an append that succeeds has recorded these events, and not others of the same command.
    eventId: ids.uuid(),
    type,
    data,
    metadata,
  }));
}
