import { DatabaseSync } from 'node:sqlite';
import { isDeepStrictEqual } from 'node:util';
import { eventSchemas, eventViewSchema, toolCallEventSchemas } from '@countersign/contracts';
import type { EventView, ToolCallEvent } from '@countersign/contracts';

/** An event read from the file without the product's code. */
export interface Entry {
  readonly position: number;
  readonly stream: string;
  readonly revision: number;
  readonly eventId: string;
  readonly type: string;
  readonly recordedAt: string;
  readonly callId: string | null;
  readonly runId: string | null;
  readonly tenant: string;
  readonly tool?: Pick<EventView, 'toolCallId' | 'toolName' | 'agentId'>;
  readonly data: unknown;
}

/** An event of a tool call. */
export type CallEvent = Entry & ToolCallEvent;

/**
 * Reads the stored file with SQLite alone; the process that owns it must have stopped. Each event must have the form
 * that the contracts define.
 */
export function readLogFile(file: string): readonly Entry[] {
  const database = new DatabaseSync(file, { readOnly: true });
  try {
    const rows = database
      .prepare(
        'SELECT e.position, s.name AS stream, e.revision, e.event_id, e.type, e.recorded_at, e.metadata, e.data ' +
          'FROM events e JOIN streams s ON s.id = e.stream ORDER BY e.position',
      )
      .all();
    return rows.map(toEntry);
  } finally {
    database.close();
  }
}

function toEntry(row: Readonly<Record<string, unknown>>): Entry {
  return entryOf(row, {
    eventId: String(row['event_id']),
    recordedAt: String(row['recorded_at']),
    metadata: String(row['metadata']),
    data: String(row['data']),
  });
}

/** The event of a row, with what each store keeps in its own way. @throws Error when it has not the form of the contracts */
export function entryOf(
  row: Readonly<Record<string, unknown>>,
  own: Pick<Entry, 'eventId' | 'recordedAt'> & { readonly metadata: string; readonly data: string },
): Entry {
  const { callId, runId, tenant, tool } = JSON.parse(own.metadata) as Pick<
    Entry,
    'callId' | 'runId' | 'tenant' | 'tool'
  >;
  const type = String(row['type']);
  const schema = Object.hasOwn(eventSchemas, type) ? eventSchemas[type as keyof typeof eventSchemas] : undefined;
  if (schema === undefined) throw new Error(`the log holds an event of the unknown type ${type}`);
  return {
    position: Number(row['position']),
    stream: String(row['stream']),
    revision: Number(row['revision']),
    eventId: own.eventId,
    type,
    recordedAt: own.recordedAt,
    callId,
    runId,
    tenant,
    ...(tool !== undefined && { tool }),
    data: schema.parse(JSON.parse(own.data)),
  };
}

/** The events of each call, in order. */
export function byCall(entries: readonly Entry[]): ReadonlyMap<string, readonly CallEvent[]> {
  const calls = new Map<string, CallEvent[]>();
  for (const entry of entries) {
    if (entry.callId === null || !isCallEvent(entry)) continue;
    const events = calls.get(entry.callId);
    if (events === undefined) calls.set(entry.callId, [entry]);
    else events.push(entry);
  }
  return calls;
}

function isCallEvent(entry: Entry): entry is CallEvent {
  return Object.hasOwn(toolCallEventSchemas, entry.type);
}

/** The response of `GET /v1/audit/events`. */
export function readAuditLines(text: string): readonly EventView[] {
  return text
    .split('\n')
    .filter(Boolean)
    .map((line) => eventViewSchema.parse(JSON.parse(line)) as EventView);
}

/** The entries as a reader found them who read this many: the record of that read comes after it. */
export function asRead(entries: readonly Entry[], count: number): readonly Entry[] {
  return entries.filter(({ type }, index) => index < count || type !== 'AuditRead');
}

/** The differences between the log over HTTP and the log in the file. */
export function differencesBetween(inFile: readonly Entry[], views: readonly EventView[]): readonly string[] {
  const entries = asRead(inFile, views.length);
  const complaints: string[] = [];
  for (let index = 0; index < Math.max(entries.length, views.length); index += 1) {
    const [entry, view] = [entries[index], views[index]];
    if (entry === undefined || view === undefined || !isSame(entry, view)) {
      complaints.push(
        `event ${index + 1} is position ${entry?.position ?? 'none'} in the file and ${view?.position ?? 'none'} over HTTP, or differs`,
      );
    }
  }
  return complaints;
}

/** An event of a call that does not name its tool is different: every reader is promised the name. */
function isSame({ stream: _, tool, ...entry }: Entry, view: EventView): boolean {
  const named = tool ?? { toolCallId: null, toolName: null, agentId: null };
  const { actor, ...rest } = view;
  return (
    isDeepStrictEqual({ ...entry, ...named }, rest) && actor !== null && (entry.callId === null || tool !== undefined)
  );
}
