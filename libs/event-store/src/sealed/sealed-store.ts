import {
  asUnreadable,
  isReadable,
  markSecrets,
  putSecrets,
  secretPointers,
  subjectOf,
  subjectOfGrant,
  takeSecrets,
  valuePointers,
} from '@countersign/contracts';
import type {
  EventData,
  GrantEvent,
  JsonObject,
  JsonValue,
  LogEvent,
  NewEvent,
  RecordedEvent,
  SealedValues,
  Unreadable,
} from '@countersign/contracts';
import type { KeyObject } from 'node:crypto';
import { createLruMap } from '@countersign/runtime';
import type { Log } from '@countersign/runtime';
import { EventStoreUnavailableError, KeysUnavailableError } from '../event-store.js';
import type { AppendOptions, AppendResult, EventStore, SoundReads } from '../event-store.js';
import { storeOver } from '../store-over.js';
import { closeBox, openBox } from './box.js';
import type { FindKey, StoreKeys, SubjectKey } from './subject-keys.js';

/** An event store whose sensitive values are encrypted at rest. */
export type SealedStore<Store extends EventStore> = Store & {
  /** Resolves when every append that is under way now has ended, so that a reader finds what it sealed. */
  readonly settled: () => Promise<void>;
  /** The log as it is stored: values sealed. */
  readonly raw: Store;
  /** The number of keys that events name and that are lost, among those that were asked for so far. */
  readonly missingKeys: () => number;
};

const subjectsKept = 4096;

/**
 * A store over `store` that encrypts the sensitive values of each event with the key of the call's subject, and decrypts
 * them for its readers. The log and its hash chain have the ciphertext. Events without sensitive values pass as they
 * are, and no key is made for them.
 */
export function createSealedStore<Store extends EventStore>(
  store: Store,
  { keys, log }: { readonly keys: StoreKeys; readonly log: Log },
): SealedStore<Store> {
  const missing = new Set<string>();
  const open = createPageOpener(keys, missing, log);
  const subjects = createLruMap<Subject>(subjectsKept);
  const underWay = new Set<Promise<AppendResult>>();

  const subjectIn = async (stream: string, events: readonly NewEvent[]): Promise<Subject> => {
    const known =
      firstSubject(events) ??
      subjects.get(stream) ??
      firstSubject((await store.readStream(stream)).slice(0, 1).filter(isReadable));
    if (known === undefined) throw new EventStoreUnavailableError(`${stream} has no call: nothing was recorded`);
    subjects.set(stream, known);
    return known;
  };
  const appendSealed = async (
    stream: string,
    expectedRevision: number,
    events: readonly NewEvent[],
    parts: readonly Part[],
    options: AppendOptions | undefined,
  ): Promise<AppendResult> => {
    const { tenant, subject } = await subjectIn(stream, events);
    const key = await currentKey(keys, tenant, subject);
    const sealed = parts.map((part) => sealEvent(part, stream, key));
    const result = await store.append(stream, expectedRevision, sealed, options);
    if (result.status !== 'committed') return result;
    try {
      const opened = await open(result.events);
      return { ...result, events: opened.every(isReadable) ? opened : [] };
    } catch (cause) {
      // It is recorded, although its values cannot be read back now: a repetition finds it.
      if (cause instanceof KeysUnavailableError) return { status: 'unknown', cause };
      throw cause;
    }
  };
  const sealed = storeOver(store, {
    append: (stream, expectedRevision, events, options) => {
      const pointers = events.map(secretPointers);
      if (pointers.every(({ length }) => length === 0)) return store.append(stream, expectedRevision, events, options);
      // Taken apart at once: a later change of the caller's objects has no effect.
      const parts = events.map((event, index) => partOf(event, pointers[index] ?? []));
      const running = appendSealed(stream, expectedRevision, events, parts, options);
      underWay.add(running);
      const forget = (): void => void underWay.delete(running);
      running.then(forget, forget);
      return running;
    },
    ...openedReads(store, open),
    sound: store.sound && openedReads(store.sound, open),
    lossOf: store.lossOf,
    subscribe: (after, handler) =>
      store.subscribe(after, {
        ...handler,
        onEvents: (events) => {
          const page = open(events);
          return page instanceof Promise ? page.then(handler.onEvents) : handler.onEvents(page);
        },
      }),
  });
  return {
    ...sealed,
    raw: store,
    missingKeys: () => missing.size,
    settled: async () => {
      await Promise.allSettled(underWay);
    },
  };
}

function openedReads(reads: SoundReads, open: (events: Page) => Page | Promise<Page>): SoundReads {
  return {
    readStream: async (stream, fromRevision) => open(await reads.readStream(stream, fromRevision)),
    readAll: async (after, limit) => open(await reads.readAll(after, limit)),
  };
}

interface Subject {
  readonly tenant: string;
  readonly subject: string;
}

function firstSubject(events: readonly NewEvent[]): Subject | undefined {
  const [first] = events;
  if (first === undefined) return undefined;
  const { tenant } = first.metadata;
  if (first.type === 'ToolCallRequested') {
    return { tenant, subject: subjectOf(first.data as EventData<'ToolCallRequested'>) };
  }
  if (!first.type.startsWith('Grant')) return undefined;
  return { tenant, subject: subjectOfGrant(first.data as GrantEvent['data']) };
}

async function currentKey(keys: StoreKeys, tenant: string, subject: string): Promise<SubjectKey> {
  try {
    return await keys.current(tenant, subject);
  } catch (error) {
    if (error instanceof KeysUnavailableError) throw error;
    const why = error instanceof Error ? error.message : String(error);
    throw new EventStoreUnavailableError(`no key could be made, so nothing was recorded: ${why}`, { cause: error });
  }
}

/** A box opens only in the event and at the places where it was closed. */
function boundTo({ eventId }: NewEvent, stream: string, keyId: string, pointers: readonly string[]): string {
  return JSON.stringify([stream, eventId, keyId, pointers]);
}

/** An event without its sensitive values, and these as JSON. */
interface Part {
  readonly event: NewEvent;
  readonly pointers: readonly string[];
  readonly secrets: string;
}

function partOf(event: NewEvent, pointers: readonly string[]): Part {
  if (pointers.length === 0) return { event, pointers, secrets: '' };
  const { data, values, pointers: found } = takeSecrets(event.data as JsonObject, pointers);
  return { event: { ...event, data: data as NewEvent['data'] }, pointers: found, secrets: JSON.stringify(values) };
}

function sealEvent({ event, pointers, secrets }: Part, stream: string, { id, key }: SubjectKey): NewEvent {
  if (pointers.length === 0) return event;
  const box = closeBox(key, boundTo(event, stream, id, pointers), secrets);
  return { ...event, metadata: { ...event.metadata, sealed: { key: id, pointers, box: box.toString('base64url') } } };
}

type Page = readonly LogEvent[];

/** Opens the events of a page: at once where the keys are here, as a synchronous subscriber needs it. */
function createPageOpener(keys: StoreKeys, missing: Set<string>, log: Log): (events: Page) => Page | Promise<Page> {
  const open = createOpener(missing, log);
  return (events) => {
    // Each subscriber of each commit gets here, and most events have nothing sealed.
    if (events.every(({ metadata: { sealed } }) => sealed === undefined)) return events;
    const ids = new Set(events.flatMap(({ metadata: { sealed } }) => (sealed === undefined ? [] : [sealed.key])));
    const openWith = (find: FindKey): Page => events.map((event) => open(event, find));
    const found = keys.load([...ids]);
    return found instanceof Promise ? found.then(openWith) : openWith(found);
  };
}

/** Decrypts an event, or marks its values as erased or as under a missing key. One whose sealed values do not open cannot be read. */
function createOpener(missing: Set<string>, log: Log): (event: LogEvent, find: FindKey) => LogEvent {
  const warnOnce = (keyId: string): void => {
    if (missing.has(keyId)) return;
    missing.add(keyId);
    log.error({ keyId }, 'a key is missing from keys.db, so its values cannot be read: restore keys.db from a backup');
  };
  return (event, find) => {
    const { sealed } = event.metadata;
    if (sealed === undefined || !isReadable(event)) return event;
    const key = find(sealed.key);
    if (typeof key === 'string') {
      if (key === 'missing') warnOnce(sealed.key);
      return unreadableEvent(event, sealed.pointers, key);
    }
    const values = valuesIn(event, key, sealed);
    if (values === undefined) return asUnreadable(event, notSealed);
    return {
      ...event,
      data: putSecrets(event.data as JsonObject, { pointers: sealed.pointers, values }) as RecordedEvent['data'],
    };
  };
}

const notSealed = 'its sealed values are not those that were recorded; restore the store from a backup';

/** The values in the box; undefined when they are not those that were sealed. */
function valuesIn(event: RecordedEvent, key: KeyObject, sealed: SealedValues): readonly JsonValue[] | undefined {
  try {
    const bound = boundTo(event, event.stream, sealed.key, sealed.pointers);
    return JSON.parse(openBox(key, bound, Buffer.from(sealed.box, 'base64url')).toString('utf8')) as JsonValue[];
  } catch {
    return undefined;
  }
}

function unreadableEvent(event: RecordedEvent, pointers: readonly string[], why: Unreadable): RecordedEvent {
  const { sealed: _gone, ...metadata } = event.metadata;
  const data = markSecrets(event.data as JsonObject, pointers, why) as RecordedEvent['data'];
  const values = valuePointers(pointers);
  return { ...event, data, metadata: values.length === 0 ? metadata : { ...metadata, [why]: values } };
}
