import { hash } from 'node:crypto';
import type { StoredEvent } from '@countersign/contracts';
import { canonicalBytes, canonicalForm } from './canonical.js';

/** An event as it is stored, with its sensitive values sealed. Its position is left out: it differs between stores. */
export type EntryEvent = Omit<StoredEvent, 'position'>;

/**
 * The entry of an event in the tree, a stored format: the RFC 8785 bytes of `{ "v": 1, eventId, stream, revision, type,
 * recordedAt, body }`, as a text. `recordedAt` is the store's time; for an event that was moved from another store it is the
 * first one's.
 */
export function entryOf(event: EntryEvent): string {
  return formatEntry({ ...event, recordedAt: firstRecordedAt(event), body: bodyOf(event) });
}

/** The members of an entry: an event without its content, of which it has the digest. */
export interface Entry extends Pick<EntryEvent, 'eventId' | 'stream' | 'revision' | 'type' | 'recordedAt'> {
  readonly body: string;
}

/** The bytes of an entry, as a text. */
export function formatEntry({ eventId, stream, revision, type, recordedAt, body }: Entry): string {
  return canonicalForm({ body, eventId, recordedAt, revision, stream, type, v: 1 });
}

/** Reads an entry from JSON. Undefined for a value that is none, or that has other members. */
export function readEntry(value: unknown): Entry | undefined {
  if (typeof value !== 'object' || value === null || Object.keys(value).length !== entryMembers) return undefined;
  const { v, body, ...place } = value as Readonly<Record<string, unknown>>;
  const { eventId, stream, revision, type, recordedAt } = place;
  const texts = [eventId, stream, type, recordedAt].every((text) => typeof text === 'string');
  if (v !== 1 || !texts || !Number.isSafeInteger(revision) || typeof body !== 'string') return undefined;
  return bodyForm.test(body) ? ({ ...place, body } as unknown as Entry) : undefined;
}

/** Reads an entry as the tree has it. Undefined for a text that is none, also for one in another form than RFC 8785. */
export function parseEntry(text: string): Entry | undefined {
  try {
    const entry = readEntry(JSON.parse(text));
    return entry !== undefined && formatEntry(entry) === text ? entry : undefined;
  } catch {
    return undefined;
  }
}

const entryMembers = 7;
const bodyForm = /^sha256:[0-9a-f]{64}$/;

/**
 * The digest of the event's content, a stored format: `sha256:` and the SHA-256 over {@link canonicalBody}. An event whose
 * stored data are no JSON has no `data` there.
 */
export function bodyOf(event: Pick<EntryEvent, 'data' | 'metadata'>): string {
  return digestOfBody(canonicalBytes(contentOf(event)));
}

/** The RFC 8785 form of the content as it is stored: `{ data, metadata }` without `metadata.moved`. */
export function canonicalBody(event: Pick<EntryEvent, 'data' | 'metadata'>): string {
  return canonicalContent(event).body;
}

/** {@link canonicalBody}, and the part of it that is the data; undefined where the stored data are no JSON. */
export interface CanonicalContent {
  readonly body: string;
  readonly data: string | undefined;
}

/** Makes the RFC 8785 form of a content and of its data at once. */
export function canonicalContent(event: Pick<EntryEvent, 'data' | 'metadata'>): CanonicalContent {
  const { data, metadata } = contentOf(event);
  if (data === undefined || metadata === undefined) return { body: canonicalForm({ data, metadata }), data: undefined };
  const text = canonicalForm(data);
  return { body: `{"data":${text},"metadata":${canonicalForm(metadata)}}`, data: text };
}

function contentOf({ data, metadata }: Pick<EntryEvent, 'data' | 'metadata'>): Pick<EntryEvent, 'data' | 'metadata'> {
  return { data, metadata: withoutMoved(metadata) };
}

/** The digest of a content in its RFC 8785 form. */
export function digestOfBody(canonical: string | Buffer): string {
  return `sha256:${hash('sha256', canonical, 'hex')}`;
}

/** The tenant in whose tree the event is; undefined for one that is in no tree. */
export function tenantOf({ metadata }: Pick<EntryEvent, 'metadata'>): string | undefined {
  const tenant = memberOf(metadata, 'tenant');
  return typeof tenant === 'string' ? tenant : undefined;
}

/** When the event was recorded first: the time by which filters and reports go. */
export function firstRecordedAt({ recordedAt, metadata }: Pick<EntryEvent, 'recordedAt' | 'metadata'>): string {
  const first = memberOf(memberOf(metadata, 'moved'), 'recordedAt');
  return typeof first === 'string' ? first : recordedAt;
}

function withoutMoved(metadata: unknown): unknown {
  return memberOf(metadata, 'moved') === undefined ? metadata : { ...(metadata as object), moved: undefined };
}

function memberOf(value: unknown, name: string): unknown {
  if (typeof value !== 'object' || value === null || !Object.hasOwn(value, name)) return undefined;
  return (value as Readonly<Record<string, unknown>>)[name];
}
