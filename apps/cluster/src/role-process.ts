import { EventStoreUnavailableError } from '@countersign/event-store';
import type { EventStore } from '@countersign/event-store';
import { connectOf, mayDelete, openEventStoreDb } from '@countersign/event-store/eventstoredb';
import type { EventStoreDbOptions } from '@countersign/event-store/eventstoredb';
import { orAborted, sleep } from '@countersign/runtime';
import { createStoreCheck } from '@countersign/shell';
import type { RuntimePorts, ReadinessCheck } from '@countersign/shell';
import type { Registry } from 'prom-client';
import type { RoleConfig } from './config.js';

/** What a role is built in: the process that asks for its readiness, and ends it. */
export interface RoleProcess extends RuntimePorts {
  readonly config: RoleConfig;
  readonly registry: Registry;
  /** Aborts when the process is told to stop. */
  readonly stopping: AbortSignal;
  /** Something that must be well before the process is ready; of the same name, the later one counts. */
  readonly check: (check: ReadinessCheck) => void;
  readonly checks: () => readonly ReadinessCheck[];
  /** What stops with the process; the last one registered stops first. */
  readonly onStop: (stop: () => void | Promise<void>) => void;
  /** Nothing in this process can help: it ends with exit code 1, and its supervisor starts a new one. */
  readonly fail: (why: string) => void;
  /** Gives the port to a server of the role's own, which answers the operations as well. */
  readonly serve: (open: (port: number) => Promise<OwnServer>) => Promise<void>;
}

/** The HTTP server of a role. */
export interface OwnServer {
  readonly listen: () => Promise<unknown>;
  readonly close: () => Promise<void>;
}

/** Builds what the role does. Everything that it stands on may be missing for a while: it waits. */
export type OpenRole = (process: RoleProcess) => Promise<void>;

const retryMs = 500;

/** Does something that needs a thing which may not be there yet, as often as it takes; the readiness says why it waits. */
export async function untilDone<T>(
  { clock, log, stopping, check }: RoleProcess,
  name: string,
  isPassing: (error: unknown) => boolean,
  work: () => Promise<T>,
): Promise<T> {
  let problem: string | undefined = 'is being opened';
  check({ name, check: () => (problem === undefined ? { status: 'ok' } : { status: 'failing', why: problem }) });
  for (;;) {
    stopping.throwIfAborted();
    try {
      // A client may wait for its server much longer than the end of a process may take; nobody hears it then.
      const value = await orAborted(work(), stopping);
      problem = undefined;
      return value;
    } catch (error) {
      if (stopping.aborted || !isPassing(error)) throw error;
      const why = error instanceof Error ? error.message : String(error);
      if (problem !== why) log.warn({ why }, `waiting: ${name}`);
      problem = why;
    }
    await sleep(clock, retryMs, stopping);
  }
}

/** Whether the event store is only away. */
export function isStoreAway(error: unknown): boolean {
  return error instanceof EventStoreUnavailableError;
}

/**
 * The event store of the process, once it has answered. A client that gets no answer any more, whatever is done to it,
 * ends the process; one that has never had an answer waits for the first.
 */
export async function openEventStore(
  process: RoleProcess,
  options: Pick<EventStoreDbOptions, 'writeOnly'> = {},
): Promise<EventStore> {
  const { config, clock, log, ids, fail, check, onStop } = process;
  let hasAnswered = false;
  const url = config.eventStoreUrl.reveal();
  const store = openEventStoreDb({
    ...options,
    url,
    connect: await connectOf(url),
    clock,
    log,
    ids,
    onWedged: (why) => {
      if (hasAnswered) fail(why);
    },
  });
  onStop(() => store.close());
  await untilDone(process, 'event-store', isStoreAway, () => store.head());
  hasAnswered = true;
  check(createStoreCheck(store));
  void watchRights(process);
  return store;
}

const rightsAgainMs = 600_000;
const mayDeleteNote =
  'the user of this service may delete streams of the event store: `countersign store secure` takes that right away';

/** A warning, and no failure: the log is only as safe as those who may delete it. */
async function watchRights({ config, clock, log, stopping, check }: RoleProcess): Promise<void> {
  let note: string | undefined;
  check({ name: 'event-store-rights', check: () => ({ status: 'ok', ...(note === undefined ? {} : { note }) }) });
  while (!stopping.aborted) {
    // What cannot be asked now stays as it was: whether the store answers is another check's business.
    const mayIt = await mayDelete(config.eventStoreUrl.reveal(), clock).catch(() => note !== undefined);
    if (mayIt && note === undefined) log.warn({}, mayDeleteNote);
    note = mayIt ? mayDeleteNote : undefined;
    await sleep(clock, rightsAgainMs, stopping);
  }
}
