import { setImmediate } from 'node:timers/promises';
import { erasedPointers, secretPointers, subjectOf } from '@countersign/contracts';
import type { EventData, RecordedEvent } from '@countersign/contracts';
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
}

interface SurveyedSubject {
  readonly tenant: string;
  readonly subject: string;
  readonly keys: ReadonlySet<string>;
  readonly isOpen: (callId: string) => boolean;
}

const pageSize = 500;

/** Reads the whole log, as it is stored, for the values of a subject. Others get their turn between its pages. */
export async function surveySubject(raw: Pick<EventStore, 'readAll'>, surveyed: SurveyedSubject): Promise<Survey> {
  const counted = { ofSubject: new Set<string>(), sealedCalls: new Set<string>(), values: 0, clearValues: 0 };
  let position = 0;
  for (;;) {
    const page = await raw.readAll(position, pageSize);
    for (const event of page) count(counted, event, surveyed);
    const last = page.at(-1);
    if (last === undefined) break;
    position = last.position;
    await setImmediate();
  }
  const calls = [...counted.sealedCalls];
  const { values, clearValues } = counted;
  return { calls, values, openCalls: calls.filter(surveyed.isOpen), clearValues };
}

interface Counted {
  readonly ofSubject: Set<string>;
  readonly sealedCalls: Set<string>;
  values: number;
  clearValues: number;
}

function count(counted: Counted, event: RecordedEvent, { tenant, subject, keys }: SurveyedSubject): void {
  const { sealed, callId, tenant: owner } = event.metadata;
  if (owner !== tenant || callId === null) return;
  if (isRequestOf(event, subject)) counted.ofSubject.add(callId);
  if (sealed === undefined) {
    if (counted.ofSubject.has(callId)) counted.clearValues += erasedPointers(secretPointers(event)).length;
  } else if (keys.has(sealed.key)) {
    counted.sealedCalls.add(callId);
    counted.values += erasedPointers(sealed.pointers).length;
  }
}

function isRequestOf(event: RecordedEvent, subject: string): boolean {
  return event.type === 'ToolCallRequested' && subjectOf(event.data as EventData<'ToolCallRequested'>) === subject;
}
