import type { Clock, Ids } from '@countersign/runtime';
import type { TimeAnswer } from '../measured-clock.js';
import type { Connection } from './connection.js';

/** The dependencies of an append that is made for its time. */
export interface AppendedTimePorts {
  readonly connection: Pick<Connection, 'call'>;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly appendMs: number;
  readonly readMs: number;
}

/** Each one is an event that stays, so there are few of them; the appends of commands tell the time as well. */
const againMs = 600_000;

/**
 * The time of a server that tells none: it is that of an event in a stream of its own, which no reader of the log takes
 * for one of Countersign's. Undefined when the event could not be written and read back.
 */
export async function appendedTime(ports: AppendedTimePorts): Promise<TimeAnswer | undefined> {
  const { connection, clock, ids, appendMs, readMs } = ports;
  const stream = `countersignClock-${ids.uuid()}`;
  const event = { id: ids.uuid(), type: 'TimeAsked', data: {}, metadata: new TextEncoder().encode('{}') };
  const sentAt = clock.monotonic();
  try {
    await connection.call(appendMs, (client) => client.append(stream, 'no_stream', [event], appendMs));
    const answeredAt = clock.monotonic();
    const [recorded] = await connection.call(readMs, (client, signal) => client.readStream(stream, 0n, 1, signal));
    if (recorded === undefined) return undefined;
    const earliest = recorded.created.getTime();
    // A recorded time is cut: by one of the vendor's clients to whole seconds.
    const latest = earliest + (earliest % 1000 === 0 ? 1000 : 1);
    return { time: { earliest, latest }, asked: { sentAt, answeredAt }, againMs };
  } catch {
    return undefined;
  }
}
