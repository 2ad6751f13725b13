import { isReadable } from '@countersign/contracts';
import type { LogEvent, StoredEvent } from '@countersign/contracts';
import { tenantOf } from '@countersign/audit';
import { connectOf, openEventStoreDb } from '@countersign/event-store/eventstoredb';
import { createLog, systemClock } from '@countersign/runtime';
import { usageError } from '../cli-error.js';
import type { LogSource, SourceEvent } from './log-source.js';

const pageMax = 500;

/**
 * The log in an EventStoreDB or a KurrentDB, up to the event that is the last one now. It is read and never written, so a user with
 * the right to read is enough. The store keeps no checkpoint: those of the auditor prove it.
 * @throws CliError for a connection string that cannot be used
 * @throws EventStoreUnavailableError when the server does not answer
 */
export async function openStoreLog(url: string): Promise<LogSource> {
  const options = { url, log: createLog({ level: 'silent' }), clock: systemClock, isReader: true };
  const open = async () => openEventStoreDb({ ...options, connect: await connectOf(url) });
  const store = await open().catch((error: unknown) => {
    throw usageError(`The source cannot be used: ${(error as Error).message}.`, form);
  });
  try {
    const head = await store.head();
    return {
      tenant: async () => {
        const [first] = await store.readAll(0, 1);
        return first === undefined ? undefined : tenantOf(storedOf(first));
      },
      events: () => eventsUpTo(head, store.readAll),
      total: head,
      checks: [],
      keptNotes: () => [],
      leaves: () => undefined,
      close: () => void store.close(),
    };
  } catch (error) {
    await store.close();
    throw error;
  }
}

const form = 'It has the form esdb://user:password@host:2113.';

async function* eventsUpTo(
  head: number,
  readAll: (after: number, limit: number) => Promise<readonly LogEvent[]>,
): AsyncGenerator<SourceEvent, void> {
  for (let after = 0; after < head;) {
    const page = await readAll(after, pageMax);
    if (page.length === 0) return;
    for (const event of page) {
      if (event.position > head) return;
      yield { stored: storedOf(event), damage: [], done: event.position };
      after = event.position;
    }
  }
}

/** The event with the members that the store has, also one that this version cannot read. */
function storedOf(event: LogEvent): StoredEvent {
  if (isReadable(event)) return event;
  const { metadata, data } = event.stored ?? { metadata: undefined, data: undefined };
  return { ...event, metadata, data };
}
