import {
  isReadable,
  isRunCancellationStream,
  lastReplacesAll,
  policyStream,
  unreadableStreamOf,
} from '@countersign/contracts';
import type { LogEvent, UnreadableEvent, UnreadableStream } from '@countersign/contracts';
import type { Log } from '@countersign/runtime';
import type { EventStore, SoundReads } from './event-store.js';
import { storeOver } from './store-over.js';

/** The streams that forbid what they cover, because an event in them cannot be read: it may be a restriction. */
export interface Forbidding {
  /** The policy stream of a tenant, when its last event cannot be read. */
  readonly policyOf: (tenant: string) => UnreadableStream | undefined;
  /** When the last one of these was followed by one that can be read, in ms; undefined while the process knows of none. */
  readonly policyBackAt: (tenant: string) => number | undefined;
  /** A cancellation of the run. */
  readonly runOf: (tenant: string, runId: string) => UnreadableStream | undefined;
}

/** The streams that a process found to be set aside, for its commands, log, metric, readiness and status. */
export interface UnreadableWatch extends Forbidding {
  /** The same store, whose events are looked at on their way to the readers. */
  readonly over: <Store extends EventStore>(store: Store) => Store;
  /** Adds those that a read model found in an earlier process. */
  readonly know: (streams: readonly UnreadableStream[]) => void;
  /** In the order of the log. */
  readonly streams: () => readonly UnreadableStream[];
}

type Place = Pick<UnreadableStream, 'stream' | 'revision' | 'position'>;

/**
 * Tells of each stream once, by its first event that cannot be read. A stream whose last event replaces all before it is
 * set aside by that one, until a later one can be read.
 */
export function createUnreadableWatch(log: Log): UnreadableWatch {
  const known = new Map<string, UnreadableStream>();
  const cancellations = new Map<string, UnreadableStream[]>();
  /** The last revision seen of the streams of which it alone counts: an event may be read again, in any order. */
  const last = new Map<string, number>();
  /** When a stream that was set aside could be read again, in ms. */
  const backAt = new Map<string, number>();
  const takeUp = (stream: string, at: number): void => {
    if (known.delete(stream)) backAt.set(stream, at);
  };
  const add = (found: UnreadableStream): void => {
    known.set(found.stream, found);
    const { runId, stream } = found;
    if (runId !== null && isRunCancellationStream(stream)) {
      cancellations.set(runId, [...(cancellations.get(runId) ?? []), found]);
    }
    log.error(
      { ...found },
      'an event of the log cannot be read: its stream is set aside, and nothing is decided or run on it',
    );
  };
  const isNews = ({ stream, revision, position }: Place): boolean => {
    if (!lastReplacesAll(stream)) return !known.has(stream);
    // A stream that was deleted has no position: nothing can follow.
    const at = position === 0 ? Infinity : revision;
    if (at <= (last.get(stream) ?? -1)) return false;
    last.set(stream, at);
    return true;
  };
  const look = <Events extends readonly LogEvent[]>(events: Events): Events => {
    for (const event of events) {
      if (isReadable(event)) {
        if (lastReplacesAll(event.stream) && isNews(event)) takeUp(event.stream, Date.parse(event.recordedAt));
      } else if (isNews(event)) add(unreadableStreamOf(event));
    }
    return events;
  };
  const lookAtLoss = (loss: UnreadableEvent | undefined): UnreadableEvent | undefined => {
    if (loss !== undefined) look([loss]);
    return loss;
  };
  const looking = ({ readStream, readAll }: SoundReads): SoundReads => ({
    readStream: async (...given) => look(await readStream(...given)),
    readAll: async (...given) => look(await readAll(...given)),
  });
  return {
    over: (store) =>
      storeOver(store, {
        append: async (stream, ...given) => {
          const result = await store.append(stream, ...given);
          if (result.status === 'committed' && lastReplacesAll(stream) && isNews({ stream, ...result })) {
            takeUp(stream, store.clock.now());
          }
          return result;
        },
        lossOf: store.lossOf && (async (stream) => lookAtLoss(await store.lossOf?.(stream))),
        ...looking(store),
        // Events that only auditors meet are told of as well.
        sound: store.sound && looking(store.sound),
        subscribe: (after, handler) =>
          store.subscribe(after, { ...handler, onEvents: (events) => handler.onEvents(look(events)) }),
      }),
    know: (streams) => {
      for (const one of streams) if (isNews(one)) add(one);
    },
    streams: () => [...known.values()].toSorted((one, other) => one.position - other.position),
    policyOf: (tenant) => (known.size === 0 ? undefined : known.get(policyStream(tenant))),
    policyBackAt: (tenant) => backAt.get(policyStream(tenant)),
    runOf: (tenant, runId) =>
      cancellations.get(runId)?.find((found) => found.tenant === null || found.tenant === tenant),
  };
}
