import { EventStoreDamagedError, EventStoreUnavailableError, noStream } from '../event-store.js';
import { recordStreamPrefix } from '../record-streams.js';
import type { KeptRecord, RecordStreams } from '../record-streams.js';
import type { ClientEvent } from './client.js';
import type { Connection } from './connection.js';
import { whyOf } from './denied.js';
import { meaningOf } from './errors.js';
import { withRetries } from './retries.js';
import type { RetryPorts } from './retries.js';

/** The dependencies of streams of records. */
export interface RecordPorts extends RetryPorts {
  readonly connection: Connection;
  readonly appendMs: number;
  readonly readMs: number;
}

const noMetadata = new TextEncoder().encode('{}');

/** Streams of records on the server. They have a prefix of their own, which no subscription of ours asks for. */
export function createRecordStreams(ports: RecordPorts): RecordStreams {
  const { connection, appendMs, readMs } = ports;
  const newest: RecordStreams['newest'] = async (stream, count) => {
    try {
      const found = await withRetries(ports, isPassing, () =>
        connection.call(readMs, (client, signal) => client.readLast(stream, count, signal)),
      );
      return found.map(toRecord);
    } catch (error) {
      const { kind } = meaningOf(error);
      if (kind === 'stream-not-found') return [];
      if (kind === 'stream-deleted') throw new EventStoreDamagedError(`${stream} was deleted`, { stream });
      throw away(error, `read ${stream}`);
    }
  };
  return {
    newest,
    keep: async (stream, expectedRevision, { id, type, data }) => {
      if (!stream.startsWith(recordStreamPrefix)) throw new RangeError(`"${stream}" is no stream of records`);
      const expected = expectedRevision === noStream ? 'no_stream' : BigInt(expectedRevision);
      const proposed = [{ id, type, data: { ...data }, metadata: noMetadata }];
      try {
        // The server recognises a repeat by its id, at the same revision.
        await withRetries(ports, isPassing, () =>
          connection.call(appendMs, (client) => client.append(stream, expected, proposed, appendMs)),
        );
        return { status: 'kept' };
      } catch (error) {
        if (meaningOf(error).kind !== 'conflict') throw away(error, `append to ${stream}`);
        // An earlier try may have been the first writer.
        const [last] = await newest(stream, 1);
        return { status: last?.id === id ? 'kept' : 'conflict' };
      }
    },
  };
}

function isPassing(verdict: ReturnType<typeof meaningOf>): boolean {
  return (verdict.kind === 'not-written' && verdict.transient) || (verdict.kind === 'unknown' && !verdict.timedOut);
}

function toRecord({ id, type, data, revision }: ClientEvent): KeptRecord {
  const members = typeof data === 'object' && data !== null ? (data as Readonly<Record<string, unknown>>) : {};
  return { id, type, data: members, revision: Number(revision) };
}

function away(error: unknown, what: string): Error {
  if (error instanceof EventStoreUnavailableError) return error;
  return new EventStoreUnavailableError(`the event store did not answer: ${whyOf(error, what)}`, { cause: error });
}
