import { rmSync } from 'node:fs';
import { join } from 'node:path';
import type {
  AnswersKey,
  EmbeddedEventStore,
  ErasingKey,
  SealedStore,
  SealedTexts,
  SubjectKeys,
} from '@countersign/event-store';
import { createSealedStore, createSealedTexts, openAnswersKey, openSubjectKeys } from '@countersign/event-store';
import type { SubjectEvent } from '@countersign/contracts';
import { subjectStream } from '@countersign/contracts';
import type { Log } from '@countersign/runtime';
import type { StandaloneConfig } from './config.js';

/** What encrypts the sensitive values of a data folder. */
export interface Vault {
  readonly keys: SubjectKeys;
  /** The log, whose readers see the values. */
  readonly store: SealedStore<EmbeddedEventStore>;
  /** For the rows of the read model. */
  readonly texts: SealedTexts;
  /** For the stored responses. */
  readonly answersKey: AnswersKey;
}

/** The log has sealed values, and the keys in the folder were made just now. */
export class LostKeysError extends Error {
  override readonly name = 'LostKeysError';
}

/**
 * Opens the keys of a data folder over its log, and finishes an erasure that a crash cut short.
 * @throws RootKeyError, LostKeysError: each names the file and the remedy.
 */
export async function openVault(config: StandaloneConfig, raw: EmbeddedEventStore, log: Log): Promise<Vault> {
  const { dataFolder: folder, rootKeyFile, acceptLostKeys } = config;
  const keys = openSubjectKeys({ folder, rootKeyFile, log });
  try {
    if (keys.isNew) {
      if (!acceptLostKeys && (await hasSealedEvents(raw))) throw lostKeys(folder);
      // Older versions stored responses in clear.
      forget(folder, 'idempotency.db');
      keys.confirm();
    }
    await finishErasures(folder, raw, keys, log);
    return {
      keys,
      store: createSealedStore(raw, { keys, log }),
      texts: createSealedTexts(keys),
      answersKey: await openAnswersKey(keys),
    };
  } catch (error) {
    keys.close();
    throw error;
  }
}

const pageSize = 500;

async function hasSealedEvents(store: EmbeddedEventStore): Promise<boolean> {
  let position = 0;
  for (;;) {
    const page = await store.readAll(position, pageSize);
    if (page.some(({ metadata }) => metadata.sealed !== undefined)) return true;
    const last = page.at(-1);
    if (last === undefined) return false;
    position = last.position;
  }
}

function lostKeys(folder: string): LostKeysError {
  return new LostKeysError(
    `${join(folder, 'keys.db')} is missing, and the log has values that were encrypted with its keys: ` +
      'restore keys.db and the root key from your copy. To give those values up, start once with COUNTERSIGN_ACCEPT_LOST_KEYS=yes',
  );
}

/**
 * Destroys the keys whose erasure is recorded, and keeps those whose erasure is not. The read model and the stored
 * responses may still have the values: the read model is rebuilt, and the responses are deleted.
 */
async function finishErasures(folder: string, store: EmbeddedEventStore, keys: SubjectKeys, log: Log): Promise<void> {
  const erasing = keys.erasing();
  if (erasing.length === 0) return;
  const recorded: string[] = [];
  for (const key of erasing) {
    if (await isRecorded(store, key)) recorded.push(key.id);
    else keys.keep([key.id]);
  }
  if (recorded.length === 0) return;
  for (const name of ['read-model.db', 'read-model.db.rebuilt', 'read-model.db.rebuild', 'idempotency.db']) {
    forget(folder, name);
  }
  keys.destroy(recorded);
  log.warn({ keys: recorded.length }, 'an erasure that was cut short is finished');
}

async function isRecorded(store: EmbeddedEventStore, { id, subject }: ErasingKey): Promise<boolean> {
  const events = await store.readStream(subjectStream(subject));
  return events.some(({ data }) => (data as SubjectEvent['data']).keys.includes(id));
}

function forget(folder: string, name: string): void {
  for (const suffix of ['-wal', '-shm', '-journal', '']) rmSync(join(folder, name + suffix), { force: true });
}
