import { z } from 'zod';
import { currentSchemaVersion, eventSchemas } from './events.js';
import type { EventMetadata, EventType, RecordedEvent } from './events.js';
import { isCallId, toolCallStream } from './ids.js';
import { jsonObjectSchema } from './json.js';
import { timeSchema } from './primitives.js';
import { compileCheck } from './schema-check.js';
import type { SchemaCheck } from './schema-check.js';
import { upcast } from './upcasters.js';

/** The headers of an event that this version cannot read, as far as they can be read. */
export interface UnreadableMetadata {
  readonly tenant: string | null;
  readonly callId: string | null;
  readonly runId: string | null;
  readonly sealed?: EventMetadata['sealed'];
}

/** An event of the log that this version cannot read: of a later version, without its members, or no JSON. */
export interface UnreadableEvent extends Pick<
  RecordedEvent,
  'eventId' | 'stream' | 'revision' | 'position' | 'recordedAt'
> {
  readonly type: string;
  readonly metadata: UnreadableMetadata;
  /** Why, as a sentence with the remedy. */
  readonly unreadable: string;
  /** What the store has, for the tree over the log alone; absent where the store has no such event. */
  readonly stored?: Pick<StoredEvent, 'metadata' | 'data'>;
}

/** A stream that is set aside, by its first event that cannot be read. */
export interface UnreadableStream extends Pick<
  UnreadableEvent,
  'eventId' | 'type' | 'stream' | 'revision' | 'position' | 'recordedAt'
> {
  /** Null where neither the event nor its call tells it. */
  readonly tenant: string | null;
  readonly callId: string | null;
  readonly runId: string | null;
  readonly why: string;
}

/** An event of the log as every reader gets it. Its data can be used only after `isReadable`. */
export type LogEvent = RecordedEvent | UnreadableEvent;

/** An event as a store has it: its place is the store's, all else is what somebody wrote. */
export interface StoredEvent extends Pick<
  RecordedEvent,
  'eventId' | 'stream' | 'revision' | 'position' | 'recordedAt'
> {
  readonly type: string;
  readonly metadata: unknown;
  /** What the store's bytes are as JSON; undefined when they are none. */
  readonly data: unknown;
}

const nameOrNull = z.string().nullable();

/** The members that readers use. A later version may add others. */
const metadataSchema = z.looseObject({
  tenant: z.string(),
  callId: nameOrNull,
  runId: nameOrNull,
  schemaVersion: z.int().min(1),
  commandId: z.string(),
  tool: z.object({ toolCallId: z.string(), toolName: z.string(), agentId: z.string() }).exactOptional(),
  traceparent: z.string().exactOptional(),
  sealed: z.object({ key: z.string(), pointers: z.array(z.string()), box: z.string() }).exactOptional(),
  moved: z.object({ recordedAt: timeSchema }).exactOptional(),
});

const isMetadata = compileCheck(metadataSchema);

/** The quick check of each type, made when the first event of the type is read. */
const checks = new Map<string, SchemaCheck>();

function fits(type: EventType, data: unknown): boolean {
  let check = checks.get(type);
  if (check === undefined) {
    check = compileCheck(eventSchemas[type]);
    checks.set(type, check);
  }
  return check(data);
}

/**
 * Returns whether an event of this version is what it should be. Nearly every event is, and is not looked at again. False
 * says nothing: the schemas decide, and say why.
 */
function isPlainlyReadable({ type, metadata, data }: StoredEvent): boolean {
  if (!Object.hasOwn(eventSchemas, type) || !isMetadata(metadata)) return false;
  const { schemaVersion } = metadata as EventMetadata;
  return schemaVersion === currentSchemaVersion && fits(type as EventType, data);
}

/**
 * The one road from a stored event to its readers. Total: it returns an event, or the reason why it cannot be read. The time
 * of an event that was moved from another store is the first one's, which the tree has and every reader goes by.
 */
export function toLogEvent(stored: StoredEvent): LogEvent {
  if (isPlainlyReadable(stored)) return readableEvent(stored);
  const why = whyUnreadable(stored);
  if (why === undefined) return readableEvent(stored);
  const { metadata, data } = stored;
  return { ...asUnreadable(stored, why), stored: { metadata, data } };
}

function readableEvent(stored: StoredEvent): RecordedEvent {
  const { moved } = stored.metadata as EventMetadata;
  return (moved === undefined ? stored : { ...stored, recordedAt: moved.recordedAt }) as unknown as RecordedEvent;
}

/** Returns whether the event can be read. */
export function isReadable(event: LogEvent): event is RecordedEvent {
  return event.unreadable === undefined;
}

/** The events of a stream that can be read, up to the first that cannot. What follows that one has no meaning without it. */
export function readablePart(events: readonly LogEvent[]): {
  readonly events: readonly RecordedEvent[];
  readonly unreadable: UnreadableEvent | undefined;
} {
  const unreadable = events.find((event): event is UnreadableEvent => !isReadable(event));
  if (unreadable === undefined) return { events: events as readonly RecordedEvent[], unreadable };
  return { events: events.slice(0, events.indexOf(unreadable)) as readonly RecordedEvent[], unreadable };
}

/** The event in the form of one that cannot be read. Its headers are kept where they are what they should be. */
export function asUnreadable(stored: Omit<StoredEvent, 'data'>, why: string): UnreadableEvent {
  const { eventId, type, stream, revision, position } = stored;
  const metadata = { ...(typeof stored.metadata === 'object' ? stored.metadata : {}) } as Partial<EventMetadata>;
  const sealed = metadataSchema.shape.sealed.safeParse(metadata.sealed).data;
  const { recordedAt } = metadataSchema.shape.moved.safeParse(metadata.moved).data ?? stored;
  return {
    ...{ eventId, type, stream, revision, position, recordedAt },
    metadata: {
      tenant: textOrNull(metadata.tenant),
      callId: callIdOf(stream) ?? textOrNull(metadata.callId),
      runId: textOrNull(metadata.runId),
      ...(sealed !== undefined && { sealed }),
    },
    unreadable: why,
  };
}

/** The stream of an event that cannot be read. */
export function unreadableStreamOf({ metadata, unreadable: why, ...event }: UnreadableEvent): UnreadableStream {
  const { eventId, type, stream, revision, position, recordedAt } = event;
  const { tenant, callId, runId } = metadata;
  return { eventId, type, stream, revision, position, recordedAt, tenant, callId, runId, why };
}

/** The call whose own stream this is: its name is the store's, so it holds where the headers are lost. */
function callIdOf(stream: string): string | undefined {
  const prefix = toolCallStream('');
  const callId = stream.startsWith(prefix) ? stream.slice(prefix.length) : '';
  return isCallId(callId) ? callId : undefined;
}

function textOrNull(value: unknown): string | null {
  return typeof value === 'string' ? value : null;
}

function whyUnreadable({ type, metadata, data }: StoredEvent): string | undefined {
  const headers = metadataSchema.safeParse(metadata);
  if (!headers.success) return `its metadata do not fit (${placeOf(headers.error)}); ${remedy}`;
  if (!jsonObjectSchema.safeParse(data).success) return `its data are not a JSON object; ${remedy}`;
  if (!Object.hasOwn(eventSchemas, type)) return `its type is unknown to this version; ${upgrade}`;
  const { schemaVersion } = headers.data;
  if (schemaVersion > currentSchemaVersion) {
    return `its schema version ${String(schemaVersion)} is later than ${String(currentSchemaVersion)}; ${upgrade}`;
  }
  return whyUnfit({ type, metadata, data } as unknown as RecordedEvent);
}

function whyUnfit(event: RecordedEvent): string | undefined {
  try {
    const { data } = upcast(event);
    const fitting = eventSchemas[event.type].safeParse(data);
    return fitting.success ? undefined : `its data do not fit its type (${placeOf(fitting.error)}); ${upgrade}`;
  } catch {
    // An older version's event without the members that its upcaster lifts.
    return `its data do not fit its type and version; ${upgrade}`;
  }
}

/** The place of the first problem. Never the value: it may be sensitive. */
function placeOf({ issues: [first] }: z.ZodError): string {
  return first === undefined || first.path.length === 0 ? 'members' : first.path.map(String).join('.');
}

const upgrade = 'upgrade Countersign to the version that wrote it';
const remedy = 'if no later version of Countersign wrote it, restore the store from a backup';
