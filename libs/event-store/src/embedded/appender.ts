import { isReadable } from '@countersign/contracts';
import type { LogEvent, NewEvent, RecordedEvent } from '@countersign/contracts';
import { createLruMap } from '@countersign/runtime';
import type { AppendResult } from '../event-store.js';
import { noStream } from '../event-store.js';
import type { Head, LogFile, StreamEnd } from './log-file.js';
import type { LogReader } from './log-reader.js';
import { chainOf } from './stored-event.js';
import type { LeafHash } from './stored-event.js';

/** An event with its JSON texts, serialised when it was submitted. */
export interface EncodedEvent {
  readonly event: NewEvent;
  readonly metadata: string;
  readonly data: string;
}

/** One append of a group. */
export interface AppendRequest {
  readonly stream: string;
  readonly expectedRevision: number;
  readonly events: readonly EncodedEvent[];
}

/** The result of a group of appends, committed or not. */
export interface WrittenGroup {
  /** One per append, in order. */
  readonly results: readonly AppendResult[];
  /** The events that the group adds to the log, in order. */
  readonly recorded: readonly RecordedEvent[];
  /** The length of the JSON texts in it. */
  readonly bytes: number;
}

/** Writes groups of appends into the open transaction. */
export interface Appender {
  readonly head: () => Head;
  /** Checks and writes each append in order; a later one sees the earlier ones. Nothing is visible before `keep`. */
  readonly write: (group: readonly AppendRequest[], recordedAt: string) => WrittenGroup;
  /** The transaction is committed: its end is the head. */
  readonly keep: () => void;
  /** The transaction is rolled back: forgets what it wrote. */
  readonly forget: () => void;
}

/** Streams in use. One that was idle for longer costs a query, which is cheaper than keeping it. */
const streamsKept = 4096;

/**
 * The writer of the log. It caches the ends of recent streams, so most appends need no query. It is the only writer, so
 * its cache is always right.
 */
export function createAppender(log: LogFile, reader: LogReader, leafHash: LeafHash, start: Head): Appender {
  const ends = createLruMap<StreamEnd>(streamsKept);
  let [committed, written] = [start, start];
  let bytes = 0;

  /**
   * A stream whose first append expects it to be new usually is new: inserting its name checks and writes in one
   * statement.
   */
  const endOf = ({ stream, expectedRevision }: AppendRequest): StreamEnd | undefined => {
    const known = ends.get(stream);
    if (known !== undefined) return known;
    const id = expectedRevision === noStream ? log.insertStream(stream) : undefined;
    return id === undefined ? log.streamEnd(stream) : { id, revision: noStream };
  };

  const insert = (request: AppendRequest, end: StreamEnd, recordedAt: string): RecordedEvent[] => {
    const { stream, events } = request;
    const streamId = end.id;
    let [{ position, chain }, revision] = [written, end.revision];
    const recorded: RecordedEvent[] = [];
    for (const { event, metadata, data } of events) {
      position += 1;
      revision += 1;
      const { eventId, type } = event;
      const leaf = leafHash(position, stream, revision, [eventId, type, recordedAt, metadata, data]);
      chain = chainOf(chain, leaf);
      bytes += metadata.length + data.length;
      log.insertEvent({ position, streamId, revision, eventId, type, recordedAt, metadata, data, leaf, chain });
      recorded.push({
        eventId,
        type,
        data: event.data,
        metadata: event.metadata,
        stream,
        revision,
        position,
        recordedAt: event.metadata.moved?.recordedAt ?? recordedAt,
      });
    }
    written = { position, chain };
    ends.set(stream, { id: streamId, revision });
    return recorded;
  };

  /** The events of an append that was committed before: the same ids right after the same expected revision. */
  const findRepeat = ({ stream, expectedRevision, events }: AppendRequest): readonly LogEvent[] | undefined => {
    const found = reader.readStream(stream, expectedRevision + 1, events.length);
    const isSame =
      found.length === events.length && found.every((each, index) => each.eventId === events[index]?.event.eventId);
    return isSame ? found : undefined;
  };

  const judge = (request: AppendRequest, recordedAt: string, recorded: RecordedEvent[]): AppendResult => {
    const end = endOf(request);
    const actualRevision = end?.revision ?? noStream;
    if (end !== undefined && request.expectedRevision === actualRevision) {
      const events = insert(request, end, recordedAt);
      recorded.push(...events);
      return toCommitted(events);
    }
    const repeated = request.expectedRevision < actualRevision ? findRepeat(request) : undefined;
    return repeated === undefined ? { status: 'conflict', actualRevision } : toCommitted(repeated);
  };

  return {
    head: () => committed,
    write: (group, recordedAt) => {
      bytes = 0;
      const recorded: RecordedEvent[] = [];
      const results = group.map((request) => judge(request, recordedAt, recorded));
      if (recorded.length > 0) log.setHead(written);
      return { results, recorded, bytes };
    },
    keep: () => {
      committed = written;
    },
    forget: () => {
      written = committed;
      ends.clear();
    },
  };
}

function toCommitted(events: readonly LogEvent[]): AppendResult {
  const last = events.at(-1);
  if (last === undefined) throw new RangeError('an append has at least one event');
  // Those of a retry were recorded before, perhaps by a later version.
  const shown = events.every(isReadable) ? events : [];
  return { status: 'committed', revision: last.revision, position: last.position, events: shown };
}
