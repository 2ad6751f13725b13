import type { EmbeddedEventStore, FileKeys, RequestsKey, SealedStore, SealedTexts } from '@countersign/event-store';
import {
  createSealedStore,
  createSealedTexts,
  openRequestsKey,
  openSubjectKeys,
  refuseLostKeys,
} from '@countersign/event-store';
import type { SubjectEvent } from '@countersign/contracts';
import { isReadable, subjectStream } from '@countersign/contracts';
import type { Log } from '@countersign/runtime';
import type { StandaloneConfig } from './config.js';

/** The encryption of the sensitive values of a data folder. */
export interface Vault {
  readonly keys: FileKeys;
  /** The log, whose readers see the values. */
  readonly store: SealedStore<EmbeddedEventStore>;
  /** For the rows of the read model. */
  readonly texts: SealedTexts;
  /** For the known requests. */
  readonly requestsKey: RequestsKey;
  readonly close: () => Promise<void>;
}

/**
 * Opens the keys of a data folder over its log, and destroys those whose erasure is recorded.
 * @throws RootKeyError, LostKeysError: each names the file and the remedy.
 */
export async function openVault(config: StandaloneConfig, raw: EmbeddedEventStore, log: Log): Promise<Vault> {
  const { dataFolder: folder, rootKeyFile, acceptLostKeys } = config;
  const keys = openSubjectKeys({ folder, rootKeyFile, log });
  try {
    await refuseLostKeys(raw, keys, { folder, acceptLostKeys, log });
    const requestsKey = await openRequestsKey(keys);
    await finishErasures(raw, keys, requestsKey, log);
    const store = createSealedStore(raw, { keys, log });
    return { keys, store, texts: createSealedTexts(keys), requestsKey, close: () => closeKeys(keys, raw, log) };
  } catch (error) {
    keys.close();
    throw error;
  }
}

/** This process made every key that it used, so the next start looks at later events alone. */
async function closeKeys(keys: FileKeys, raw: EmbeddedEventStore, log: Log): Promise<void> {
  try {
    const [last] = await raw.readAll(Math.max(0, (await raw.head()) - 1), 1);
    if (last !== undefined) keys.setCheckedTo(last);
  } catch (error) {
    log.debug({ error }, 'the end of the log cannot be read: the next start compares more of it with keys.db');
  } finally {
    keys.close();
  }
}

/**
 * Destroys the keys whose erasure is recorded: a crash cut the erasure short, or `keys.db` is from an older backup. Keeps
 * those whose erasure is not recorded. The read model builds its file again, since it is older than the erasure.
 */
async function finishErasures(
  store: EmbeddedEventStore,
  keys: FileKeys,
  requestsKey: RequestsKey,
  log: Log,
): Promise<void> {
  const { recorded, isWhole } = await recordedKeys(store);
  if (isWhole) keys.keep(keys.erasing().filter((id) => !recorded.has(id)));
  const left = [...recorded].filter((id) => keys.findForCopies(id) !== undefined);
  if (left.length === 0) return;
  await requestsKey.renew();
  keys.destroy(left);
  log.warn({ keys: left.length }, 'keys whose erasure is recorded were still there: they are destroyed');
}

/** The ids of all keys whose erasure the log proves. `isWhole`: every proof could be read. */
async function recordedKeys(
  store: EmbeddedEventStore,
): Promise<{ readonly recorded: ReadonlySet<string>; readonly isWhole: boolean }> {
  const recorded = new Set<string>();
  let isWhole = true;
  for (const stream of store.streamsWith(subjectStream(''))) {
    for (const event of await store.readStream(stream)) {
      // It may prove an erasure that was interrupted: then the keys of that are neither kept nor destroyed.
      if (!isReadable(event)) isWhole = false;
      else for (const id of (event.data as SubjectEvent['data']).keys) recorded.add(id);
    }
  }
  return { recorded, isWhole };
}
