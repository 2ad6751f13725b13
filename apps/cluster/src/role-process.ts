import { createDecidingClock, createUnreadableWatch, EventStoreUnavailableError } from '@countersign/event-store';
import type { EventStore, UnreadableWatch } from '@countersign/event-store';
import { connectOf, mayDelete, openEventStoreDb } from '@countersign/event-store/eventstoredb';
import type { EventStoreDbOptions } from '@countersign/event-store/eventstoredb';
import { orAborted, sleep } from '@countersign/runtime';
import {
  createClockCheck,
  createCommitMetrics,
  createGauges,
  createKeysCheck,
  createReadOnlyStore,
  createStoreCheck,
  createTracedStore,
  createUnreadableCheck,
  observeClock,
} from '@countersign/shell';
import type { ReadinessCheck, ReloadedFile, RuntimePorts, TellCommit } from '@countersign/shell';
import type { Registry } from 'prom-client';
import type { RoleConfig } from './config.js';
import { borrowVault } from './keeper/borrow-vault.js';
import type { Vault } from './keeper/borrow-vault.js';
import { createKeylessStore } from './keyless-store.js';
import { createMeasuredStore } from './measured-store.js';
import { createNotaryClient } from './notary/notary-client.js';
import type { NotaryClient } from './notary/notary-client.js';
import { watchRewound } from './notary/watch-rewound.js';

/** The process as its role sees it: readiness checks, and shutdown. */
export interface RoleProcess extends RuntimePorts {
  readonly config: RoleConfig;
  readonly registry: Registry;
  /** Aborts when the process is asked to stop. */
  readonly stopping: AbortSignal;
  /** Adds a readiness check. A later check of the same name replaces the earlier one. */
  readonly check: (check: ReadinessCheck) => void;
  readonly checks: () => readonly ReadinessCheck[];
  /** Adds a file whose failed reloads `/readyz` and the metrics tell. */
  readonly followed: (file: ReloadedFile) => void;
  readonly followedFiles: () => readonly ReloadedFile[];
  /** Registers a step of the shutdown. The last one registered runs first. */
  readonly onStop: (stop: () => void | Promise<void>) => void;
  /** Ends the process with exit code 1, because only a new process can help; the supervisor restarts it. */
  readonly fail: (why: string) => void;
  /** Hands the port over to the role's own server, which also serves the operations routes. */
  readonly serve: (open: (port: number) => Promise<OwnServer>) => Promise<void>;
}

/** The HTTP server of a role. */
export interface OwnServer {
  readonly listen: () => Promise<unknown>;
  readonly close: () => Promise<void>;
}

/** Builds the role. It waits for each dependency that is unavailable. */
export type OpenRole = (process: RoleProcess) => Promise<void>;

const retryMs = 500;

/** Retries a step until its dependency is available. Readiness reports the reason meanwhile. */
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
      // A client may wait for its server longer than the shutdown allows. Its late result is ignored.
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

/** Returns whether the error only means that the event store is unreachable. */
export function isStoreAway(error: unknown): boolean {
  return error instanceof EventStoreUnavailableError;
}

/** The event store as a role uses it; `vault` is null where values are recorded in clear. */
export interface LedgerStore {
  /** Everything that is decided goes through it. It only reads while the log contradicts what was signed. */
  readonly store: EventStore;
  /** The same store without this refusal: what a process records about itself and its configuration at its start. */
  readonly ownRecord: EventStore;
  /** Undefined: this process asks no notary, and cannot know whether the log contradicts what was signed. */
  readonly notaries: NotaryClient | undefined;
  readonly vault: Vault | null;
  /** The streams that this process found to be set aside. */
  readonly unreadable: UnreadableWatch;
}

/** How a role uses its store. */
interface StoreOptions extends Pick<EventStoreDbOptions, 'writeOnly'> {
  /** Default: the metrics of the process. */
  readonly tellCommit?: TellCommit;
}

/** The event store, with the keys of sensitive values where this process borrows them. */
export async function openEventStore(process: RoleProcess, options: StoreOptions = {}): Promise<LedgerStore> {
  const raw = await openStoreOf(process, options);
  const unreadable = watchUnreadable(process);
  const notaries = openNotaries(process);
  const guarded = (ownRecord: EventStore): Pick<LedgerStore, 'store' | 'ownRecord' | 'notaries'> => {
    const store = notaries === undefined ? ownRecord : createReadOnlyStore(ownRecord, watchRewound(process, notaries));
    return { store, ownRecord, notaries };
  };
  const { keeper: connection, dataFolder } = process.config;
  if (connection === null) {
    return { ...guarded(unreadable.over(createKeylessStore(raw, process.fail))), vault: null, unreadable };
  }
  const borrow = (): Promise<Vault> => borrowVault(process, { connection, dataFolder }, raw);
  const vault = await untilDone(process, 'keys', isStoreAway, borrow);
  process.check(createKeysCheck(vault.store.missingKeys));
  return { ...guarded(unreadable.over(vault.store)), vault, unreadable };
}

/** The notaries that this process asks; undefined: none. */
function openNotaries({ config, clock, onStop }: RoleProcess): NotaryClient | undefined {
  if (config.notaries === null) return undefined;
  const client = createNotaryClient(config.notaries, clock);
  onStop(client.close);
  return client;
}

/** The events that cannot be read, for the log, the metric and the readiness of a role. */
function watchUnreadable({ log, registry, check }: RoleProcess): UnreadableWatch {
  const watch = createUnreadableWatch(log);
  check(createUnreadableCheck(watch.streams));
  createGauges(registry)(
    'countersign_unreadable_streams',
    'Streams that are set aside, because an event in them cannot be read.',
    () => watch.streams().length,
  );
  return watch;
}

/**
 * Returns the event store, with values as they are stored, after its first response. A client that stops responding, even after replacement, ends the
 * process; one that never responded waits.
 */
export async function openRawStore(process: RoleProcess): Promise<EventStore> {
  return watchUnreadable(process).over(await openStoreOf(process, {}));
}

async function openStoreOf(
  process: RoleProcess,
  { tellCommit = createCommitMetrics(process.registry), ...options }: StoreOptions,
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
  await untilDone(process, 'event-store', isStoreAway, () => answerOf(store));
  hasAnswered = true;
  check(createStoreCheck(store));
  check(createClockCheck(store.clock));
  observeClock(process.registry, store.clock);
  void watchRights(process);
  return createTracedStore(createMeasuredStore(store, clock, tellCommit), process.tracing);
}

/** The store can be read, and has told its time. */
async function answerOf({ head, clock }: EventStore): Promise<void> {
  await head();
  createDecidingClock(clock).now();
}

const rightsAgainMs = 600_000;
const mayDeleteNote =
  'the user of this service may delete streams of the event store: `countersign store secure` takes that right away';

/** A warning, and no failure: the log is only as safe as those who may delete it. */
async function watchRights({ config, clock, log, stopping, check }: RoleProcess): Promise<void> {
  let note: string | undefined;
  check({ name: 'event-store-rights', check: () => ({ status: 'ok', ...(note === undefined ? {} : { note }) }) });
  while (!stopping.aborted) {
    // An unknown state keeps the last value: another check reports whether the store responds.
    const mayIt = await mayDelete(config.eventStoreUrl.reveal(), clock).catch(() => note !== undefined);
    if (mayIt && note === undefined) log.warn({}, mayDeleteNote);
    note = mayIt ? mayDeleteNote : undefined;
    await sleep(clock, rightsAgainMs, stopping);
  }
}
