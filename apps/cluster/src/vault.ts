import type { SubjectEvent } from '@countersign/contracts';
import {
  createSealedStore,
  createSealedTexts,
  EventStoreUnavailableError,
  openAnswersKey,
  openSubjectKeys,
  refuseLostKeys,
} from '@countersign/event-store';
import type {
  AnswersKey,
  ErasureKeys,
  EventStore,
  FileKeys,
  SealedStore,
  SealedTexts,
  SubjectKeys,
} from '@countersign/event-store';
import { makeFolderOf, sleep } from '@countersign/runtime';
import type { Log } from '@countersign/runtime';
import type { RuntimePorts } from '@countersign/shell';
import type { KeysConfig } from './config.js';

/** The dependencies of the keys: those of the process. */
export interface VaultPorts extends Pick<RuntimePorts, 'clock' | 'log'> {
  readonly stopping: AbortSignal;
  /** Registers a step of the shutdown. */
  readonly onStop: (stop: () => void | Promise<void>) => void;
  /** Ends the process. */
  readonly fail: (why: string) => void;
}

/** The keys that the processes of a cluster share, and the copies of this process. */
export interface Vault {
  readonly keys: ErasureKeys;
  /** The log, whose readers see the values. */
  readonly store: SealedStore<EventStore>;
  /** Opens the read model, a copy that is built again after each erasure; `texts` encrypts its rows. */
  readonly openRows: <Rows extends { readonly rebuild: () => Promise<unknown> }>(
    open: (texts: SealedTexts) => Promise<Rows>,
  ) => Promise<Rows>;
  /** For the stored responses. */
  readonly answersKey: AnswersKey;
  /** Adds a copy that this process keeps, and how to write it again without the values that read as erased. */
  readonly keepCopy: (rewrite: () => Promise<void>) => void;
  /** Adds a copy in memory, which is forgotten. */
  readonly keepInMemory: (forget: () => void) => void;
  /** Resolves when no process appends with a key that was retired before. */
  readonly othersSettled: () => Promise<void>;
  /** Writes the copies of all processes again, as far as an erasure waits for them. */
  readonly rewriteEverywhere: () => Promise<void>;
  /**
   * Destroys the keys whose erasure is among these events, and which a crash or an older backup of the keys has left.
   * Returns whether there were any.
   */
  readonly finishErasures: (events: Recorded) => Promise<boolean>;
  /** True when this process learns of erasures from the log alone, so that it has to follow the log. */
  readonly learnsFromLog: boolean;
}

/** The vault of a process that has the folder of the keys. */
export interface FolderVault extends Vault {
  readonly keys: SubjectKeys;
}

const pageSize = 500;

type Recorded = Awaited<ReturnType<EventStore['readAll']>>;

/**
 * How long an erasure waits for the other processes: for appends that they began with the retired key, and until they have
 * written their copies again. A process that needs longer answers `unavailable` where a copy has an erased value.
 */
export const othersMs = 2000;

/**
 * Opens the shared keys over the log of the cluster. When any process has recorded an erasure, this one writes its copies
 * again, and destroys a key that is still there after the time of the others. Erasures that a crash cut short are finished
 * or taken back first.
 * @throws RootKeyError, LostKeysError: each names the file and the remedy.
 */
export async function openVault(ports: VaultPorts, config: KeysConfig, raw: EventStore): Promise<FolderVault> {
  const keys = await openKeys(config, raw, ports.log);
  try {
    const vault = await openOver(keys, ports, raw);
    ports.onStop(keys.close);
    return vault;
  } catch (error) {
    keys.close();
    throw error;
  }
}

/** Opens the keys in their folder. @throws RootKeyError, LostKeysError: each names the file and the remedy. */
export async function openKeys(
  { folder, rootKeyFile, acceptLostKeys }: KeysConfig,
  raw: EventStore,
  log: Log,
): Promise<FileKeys> {
  makeFolderOf('COUNTERSIGN_KEYS_FOLDER', folder);
  const keys = openSubjectKeys({ folder, rootKeyFile, log });
  try {
    if (keys.isNew) {
      await refuseLostKeys(raw, { keys, folder, acceptLostKeys });
      keys.confirm();
    }
    return keys;
  } catch (error) {
    keys.close();
    throw error;
  }
}

async function openOver(
  keys: SubjectKeys,
  { clock, log, fail, stopping }: VaultPorts,
  raw: EventStore,
): Promise<FolderVault> {
  const unfinished = await recordedErasures(raw, keys, () => sleep(clock, othersMs, stopping));
  const answersKey = await openAnswersKey(keys);
  const destroy = async (ids: readonly string[]): Promise<void> => {
    await answersKey.renew();
    keys.destroy(ids);
  };
  if (unfinished.length > 0) await destroy(unfinished);
  const copies: (() => Promise<void>)[] = [];
  let last: Promise<unknown> = Promise.resolve();
  const rewriteAll = async (): Promise<void> => {
    // At once: the stored responses are forgotten before a large read model is written.
    await Promise.all(copies.map((rewrite) => rewrite()));
  };
  const rewriteCopies = (): Promise<void> => {
    const running = last.then(rewriteAll);
    last = running.catch(() => undefined);
    return running;
  };
  const finishErasures = async (events: Recorded): Promise<boolean> => {
    const left = erasedKeysOf(events).filter((id) => keys.findForCopies(id) !== undefined);
    if (left.length > 0) await destroy(left);
    return left.length > 0;
  };
  const follow = async (events: Recorded): Promise<void> => {
    try {
      // An older backup of the keys does not know of the erasure, and the copies must not have its values.
      keys.beginErasing(erasedKeysOf(events));
      await rewriteCopies();
      await sleep(clock, othersMs, stopping);
      await finishErasures(events);
    } catch (error) {
      if (stopping.aborted) return;
      log.error({ error }, 'the copies of erased values could not be written again');
      fail('the copies of erased values could not be written again: the next start builds them from the log');
    }
  };
  const watched: EventStore = {
    ...raw,
    subscribe: (after, handler) =>
      raw.subscribe(after, {
        ...handler,
        onEvents: async (events) => {
          await handler.onEvents(events);
          if (erasedKeysOf(events).length > 0) void follow(events);
        },
      }),
  };
  const store = createSealedStore(watched, { keys, log });
  const texts = createSealedTexts(keys);
  const keepCopy = (rewrite: () => Promise<void>): void => void copies.push(rewrite);
  return {
    keys,
    store,
    openRows: async (open) => {
      const rows = await open(texts);
      keepCopy(async () => {
        await rows.rebuild();
      });
      return rows;
    },
    answersKey,
    keepCopy,
    keepInMemory: (forget) => {
      keepCopy(() => {
        forget();
        return Promise.resolve();
      });
    },
    othersSettled: async () => {
      await store.settled();
      await sleep(clock, othersMs);
    },
    rewriteEverywhere: async () => {
      await Promise.all([rewriteCopies(), sleep(clock, othersMs)]);
    },
    finishErasures,
    learnsFromLog: true,
  };
}

/**
 * The keys whose erasure was begun and is recorded: a crash cut it short, perhaps after the copies were written. One that is
 * not recorded when `othersDone` resolves, is taken back.
 */
async function recordedErasures(
  raw: Pick<EventStore, 'readAll'>,
  keys: SubjectKeys,
  othersDone: () => Promise<void>,
): Promise<readonly string[]> {
  const begun = keys.erasing();
  if (begun.length === 0) return [];
  await othersDone();
  const recorded = new Set<string>();
  let page = await raw.readAll(0, pageSize);
  for (let last = page.at(-1); last !== undefined; last = page.at(-1)) {
    for (const id of erasedKeysOf(page)) recorded.add(id);
    page = await raw.readAll(last.position, pageSize);
  }
  keys.keep(begun.filter((id) => !recorded.has(id)));
  return begun.filter((id) => recorded.has(id));
}

/** The keys that the proofs among these events name. */
export function erasedKeysOf(events: Recorded): readonly string[] {
  return events.flatMap(({ type, data }) => (type === 'SubjectErased' ? (data as SubjectEvent['data']).keys : []));
}

/** A store for a process without keys: it refuses a log with sealed values, which it would show and record wrongly. */
export function createKeylessStore(raw: EventStore, { fail }: Pick<VaultPorts, 'fail'>): EventStore {
  const checked = (events: Recorded): Recorded => {
    if (!events.some(({ metadata }) => metadata.sealed !== undefined)) return events;
    const why =
      'the log has encrypted values: set COUNTERSIGN_KEYS_FOLDER to the folder that the other processes of the cluster use, or COUNTERSIGN_KEEPER_URL to their keeper';
    fail(why);
    throw new EventStoreUnavailableError(why);
  };
  return {
    ...raw,
    readStream: async (stream, fromRevision) => checked(await raw.readStream(stream, fromRevision)),
    readAll: async (after, limit) => checked(await raw.readAll(after, limit)),
    subscribe: (after, handler) =>
      raw.subscribe(after, { ...handler, onEvents: (events) => handler.onEvents(checked(events)) }),
  };
}
