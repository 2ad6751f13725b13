import { EventStoreUnavailableError, noStream } from './event-store.js';
import type { KeptRecord, RecordStreams, StreamRecord } from './record-streams.js';

/** The fate of a write of a record: `lost-reply`: it is kept, and the writer does not learn it. */
export type RecordFault = 'none' | 'lost-request' | 'lost-reply';

/** Streams of records in memory. They outlive their writers. `fault` is asked before each write. */
export function createSimulatedRecordStreams(
  streams: Map<string, KeptRecord[]> = new Map<string, KeptRecord[]>(),
  fault: () => RecordFault = () => 'none',
): RecordStreams {
  return {
    keep: (stream, expectedRevision, record: StreamRecord) => {
      const happening = fault();
      const lost = new EventStoreUnavailableError('the connection was lost');
      if (happening === 'lost-request') return Promise.reject(lost);
      const found = streams.get(stream) ?? [];
      const isRepeat = found[expectedRevision + 1]?.id === record.id;
      if (!isRepeat && found.length + noStream !== expectedRevision) return Promise.resolve({ status: 'conflict' });
      if (!isRepeat) streams.set(stream, [...found, { ...structuredClone(record), revision: found.length }]);
      return happening === 'lost-reply' ? Promise.reject(lost) : Promise.resolve({ status: 'kept' });
    },
    newest: (stream, count) => Promise.resolve((streams.get(stream) ?? []).toReversed().slice(0, count)),
  };
}
