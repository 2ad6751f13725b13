import { hash } from 'node:crypto';
import type { StoredEvent } from '@countersign/contracts';
import { canonicalForm } from './canonical.js';

/** An event as it is stored, with its sensitive values sealed. Its position is left out: it differs between stores. */
export type EntryEvent = Omit<StoredEvent, 'position'>;

/**
 * The entry of an event in the tree, a stored format: the RFC 8785 bytes of `{ "v": 1, eventId, stream, revision, type,
 * recordedAt, body }`, as a text. `recordedAt` is the store's time; for an event that was moved from another store it is the
 * first one's.
 */
export function entryOf(event: EntryEvent): string {
  const { eventId, stream, revision, type } = event;
  // The members are written in their order, so that only the content needs sorting.
  return (
    `{"body":"${bodyOf(event)}","eventId":${canonicalForm(eventId)},"recordedAt":${canonicalForm(firstRecordedAt(event))},` +
    `"revision":${canonicalForm(revision)},"stream":${canonicalForm(stream)},"type":${canonicalForm(type)},"v":1}`
  );
}

/**
 * The digest of the event's content, a stored format: `sha256:` and the SHA-256 over the RFC 8785 bytes of `{ data,
 * metadata }` as stored. `metadata.moved` is left out. An event whose stored data are no JSON has no `data` here.
 */
export function bodyOf({ data, metadata }: Pick<EntryEvent, 'data' | 'metadata'>): string {
  const text = canonicalForm({ data, metadata: withoutMoved(metadata) });
  return `sha256:${hash('sha256', text, 'hex')}`;
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
