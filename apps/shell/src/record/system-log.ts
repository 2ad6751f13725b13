import { createKeyedQueue } from '@countersign/commands';
import { currentSchemaVersion, systemStream } from '@countersign/contracts';
import type { NewEvent, SystemEvent } from '@countersign/contracts';
import { appendUntilKnown, createDecidingClock, isStoreOutage } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import type { Clock, Ids, Log } from '@countersign/runtime';
import { openProcessFile } from './process-file.js';
import { afterEvent, foldRecorded } from './recorded.js';
import type { Recorded } from './recorded.js';

/** The tenant of facts about the process as a whole. */
export const processTenant = 'default';

/** An event without the members that all have in common. */
export type SystemEventBody = {
  [T in SystemEvent['type']]: {
    readonly type: T;
    readonly data: Omit<Extract<SystemEvent, { readonly type: T }>['data'], 'processId'>;
  };
}[SystemEvent['type']];

/** The log of record of one process: who configured it, who signed in, who looked. */
export interface SystemLog {
  readonly processId: string;
  /** The tenants about which this process has recorded something. */
  readonly tenants: () => readonly string[];
  /** Returns whether an event is the start of this very process, and not of an earlier one or of a copy. */
  readonly isOwnStart: (eventId: string) => boolean;
  /** The store's time, as it is recorded. @throws EventStoreUnavailableError while it is not known. */
  readonly now: () => string;
  /** True from a restore of a backup until a person says that they know, as far as the state of the process is loaded. */
  readonly isRestored: () => boolean;
  /** What this process recorded last about a tenant. @throws as the store. */
  readonly recorded: (tenant: string) => Promise<Recorded>;
  /** Resolves when the event is recorded. @throws EventStoreUnavailableError, OutcomeUnknownError. */
  readonly record: (tenant: string, event: SystemEventBody) => Promise<void>;
  /** Records it as soon as the store can be written. Nothing waits for it. */
  readonly note: (tenant: string, event: () => SystemEventBody) => void;
  /** Records what was noted, if the store can be written now. */
  readonly close: () => Promise<void>;
}

/** The dependencies of a log of record. */
export interface SystemLogPorts {
  readonly store: Pick<EventStore, 'append' | 'readStream' | 'clock'>;
  /** The data folder of the process, with its id. */
  readonly folder: string;
  readonly clock: Clock;
  readonly ids: Ids;
  readonly log: Log;
}

const notedMax = 1000;
const againMs = 2000;

/** Opens the log of record of a data folder. @throws ProcessFileError */
export function openSystemLog({ store, folder, clock, ids, log }: SystemLogPorts): SystemLog {
  const file = openProcessFile(folder, ids);
  const { processId, tenants } = file;
  const deciding = createDecidingClock(store.clock);
  const states = new Map<string, Recorded>();
  const inTurn = createKeyedQueue();
  /** Of the start alone: it is once in the life of a process. */
  const starts = new Set<string>();
  let isRestored = false;
  const know = (tenant: string, state: Recorded): void => {
    states.set(tenant, state);
    if (tenant === processTenant) isRestored = state.lostEnd?.isRestored === true;
  };
  const load = async (tenant: string): Promise<Recorded> => {
    const known = states.get(tenant) ?? foldRecorded(await store.readStream(systemStream(tenant, processId)));
    know(tenant, known);
    return known;
  };
  const append = async (tenant: string, { type, data }: SystemEventBody): Promise<void> => {
    file.addTenant(tenant);
    const event = toEvent(tenant, { type, data: { processId, ...data } } as SystemEvent, ids.uuid());
    if (type === 'ProcessStarted') starts.add(event.eventId);
    for (;;) {
      const before = await load(tenant);
      // Forgotten until the outcome is known: another process may have a copy of the folder.
      states.delete(tenant);
      const ports = { store, clock, ids };
      const result = await appendUntilKnown(ports, systemStream(tenant, processId), before.revision, [event]);
      if (result.status === 'conflict') continue;
      know(tenant, afterEvent(before, { ...(event as SystemEvent), revision: result.revision }));
      return;
    }
  };
  const record: SystemLog['record'] = (tenant, event) => inTurn(tenant, () => append(tenant, event));
  const notes = createNotes({ record, clock, log });
  return {
    processId,
    tenants,
    isOwnStart: (eventId) => starts.has(eventId),
    now: () => new Date(deciding.now()).toISOString(),
    isRestored: () => isRestored,
    recorded: (tenant) => inTurn(tenant, () => load(tenant)),
    record,
    note: notes.add,
    close: notes.close,
  };
}

function toEvent(tenant: string, { type, data }: SystemEvent, eventId: string): NewEvent<SystemEvent> {
  const metadata = { tenant, callId: null, runId: null, schemaVersion: currentSchemaVersion, commandId: eventId };
  return { eventId, type, data, metadata };
}

interface Note {
  readonly tenant: string;
  readonly event: () => SystemEventBody;
}

/** What waits for the store, in order. The oldest of too many are dropped, and the log of the process says so. */
function createNotes({ record, clock, log }: Pick<SystemLog, 'record'> & Pick<SystemLogPorts, 'clock' | 'log'>) {
  const waiting: Note[] = [];
  let running: Promise<void> | undefined;
  let cancelRetry = (): void => undefined;
  let hasWarned = false;
  const writeAll = async (): Promise<void> => {
    for (let next = waiting[0]; next !== undefined; next = waiting[0]) {
      await record(next.tenant, next.event());
      waiting.shift();
      hasWarned = false;
    }
  };
  const start = (): Promise<void> =>
    (running ??= writeAll()
      .catch((error: unknown) => {
        if (!isStoreOutage(error)) waiting.shift();
        if (!hasWarned) log.warn({ error }, 'the log of record waits for the event store');
        hasWarned = true;
        if (waiting.length > 0) cancelRetry = clock.setTimer(againMs, () => void start());
      })
      .finally(() => (running = undefined)));
  return {
    add: (tenant: string, event: () => SystemEventBody): void => {
      if (waiting.length >= notedMax) {
        waiting.shift();
        log.error({}, 'an event of the log of record is lost: the event store was away for too long');
      }
      waiting.push({ tenant, event });
      void start();
    },
    close: async (): Promise<void> => {
      cancelRetry();
      await running;
      cancelRetry();
      await writeAll().catch((error: unknown) => log.warn({ error }, 'the log of record could not be completed'));
    },
  };
}
