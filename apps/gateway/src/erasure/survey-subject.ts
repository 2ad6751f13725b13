import { setImmediate } from 'node:timers/promises';
import { isReadable, secretPointers, subjectNameOf, subjectOf, valuePointers } from '@countersign/contracts';
import type { EraseSubject, EventData, LogEvent, RecordedEvent } from '@countersign/contracts';
import type { EventStore } from '@countersign/event-store';

/** The log's entries about a subject. */
export interface Survey {
  /** The calls with values under one of the keys. */
  readonly calls: readonly string[];
  readonly values: number;
  /** Those of them that are not settled. */
  readonly openCalls: readonly string[];
  /** Values that were recorded in clear, by an older version. */
  readonly clearValues: number;
  /** The keys of all values of its calls, whatever became of them. */
  readonly keys: readonly string[];
  /** The principals that have calls of this name. */
  readonly principals: readonly string[];
}

/** The subject as an erasure names it: of all principals, or of one. */
export type NamedSubject = Pick<EraseSubject, 'subject' | 'requestedBy'>;

interface SurveyedSubject {
  readonly tenant: string;
  readonly named: NamedSubject;
  readonly keys: ReadonlySet<string>;
  readonly isOpen: (callId: string) => boolean;
}

const pageSize = 500;

/** Reads the whole log, as it is stored, for the values of a subject. Others get their turn between its pages. */
export async function surveySubject(raw: Pick<EventStore, 'readAll'>, surveyed: SurveyedSubject): Promise<Survey> {
  const counted: Counted = {
    ...{ ofSubject: new Map(), keys: new Set(), sealedCalls: new Set() },
    ...{ values: 0, clearValues: 0 },
  };
  for await (const event of eventsOf(raw)) count(counted, event, surveyed);
  const calls = [...counted.sealedCalls];
  const { values, clearValues } = counted;
  const [keys, principals] = [[...counted.keys], [...new Set(counted.ofSubject.values())]];
  return { calls, values, openCalls: calls.filter(surveyed.isOpen), clearValues, keys, principals };
}

/**
 * Returns the subjects whose keys an erasure is about: one for each principal that has calls of this name. A version before
 * 0.1.0 gave all principals one subject, which the name alone stands for, as it does for a grant.
 */
export async function subjectsIn(
  raw: Pick<EventStore, 'readAll'>,
  tenant: string,
  named: NamedSubject,
): Promise<readonly string[]> {
  const subjects = new Set(named.requestedBy === undefined ? [named.subject] : []);
  for await (const event of eventsOf(raw)) {
    const request = isReadable(event) && event.metadata.tenant === tenant ? requestOf(event, named) : undefined;
    if (request !== undefined) subjects.add(subjectOf(request));
  }
  return [...subjects];
}

/** The names under which a subject may have been erased: for all principals, and for each of them. */
export function namesOf(subject: string, principals: readonly string[]): readonly NamedSubject[] {
  return [{ subject }, ...principals.map((requestedBy) => ({ subject, requestedBy }))];
}

/** The name under which the proof of an erasure is recorded, hashed. */
export function proofNameOf({ subject, requestedBy }: NamedSubject): string {
  return requestedBy === undefined ? subject : JSON.stringify([requestedBy, subject]);
}

/** The whole log, as it is stored. @throws the signal's reason. */
export async function* eventsOf(
  raw: Pick<EventStore, 'readAll'>,
  signal?: AbortSignal,
): AsyncGenerator<LogEvent, void> {
  for (let position = 0; ;) {
    signal?.throwIfAborted();
    const page = await raw.readAll(position, pageSize);
    yield* page;
    const last = page.at(-1);
    if (last === undefined) return;
    position = last.position;
    await setImmediate();
  }
}

interface Counted {
  /** Its calls, with their principals. */
  readonly ofSubject: Map<string, string>;
  readonly keys: Set<string>;
  readonly sealedCalls: Set<string>;
  values: number;
  clearValues: number;
}

function count(counted: Counted, event: LogEvent, { tenant, named, keys }: SurveyedSubject): void {
  const { sealed, callId, tenant: owner } = event.metadata;
  if (owner !== tenant || callId === null) return;
  const request = isReadable(event) ? requestOf(event, named) : undefined;
  if (request !== undefined) counted.ofSubject.set(callId, request.requestedBy);
  if (counted.ofSubject.has(callId)) countOfCall(counted, event);
  if (sealed === undefined || !keys.has(sealed.key)) return;
  counted.sealedCalls.add(callId);
  counted.values += valuePointers(sealed.pointers).length;
}

function countOfCall(counted: Counted, event: LogEvent): void {
  const { sealed } = event.metadata;
  if (sealed !== undefined) counted.keys.add(sealed.key);
  else if (isReadable(event)) counted.clearValues += valuePointers(secretPointers(event)).length;
}

/** The request of a call of this name; undefined for other events. */
function requestOf(
  { type, data }: RecordedEvent,
  { subject, requestedBy }: NamedSubject,
): EventData<'ToolCallRequested'> | undefined {
  if (type !== 'ToolCallRequested') return undefined;
  const request = data as EventData<'ToolCallRequested'>;
  const isOfPrincipal = requestedBy === undefined || request.requestedBy === requestedBy;
  return isOfPrincipal && subjectNameOf(request) === subject ? request : undefined;
}
