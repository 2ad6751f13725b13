import { currentSchemaVersion } from './events.js';
import type { EventType, RecordedEvent } from './events.js';
import type { JsonObject, JsonValue } from './json.js';

/** Converts the data of one event type from one schema version to the next. Stored events are never edited. */
type Upcaster = (data: JsonObject) => JsonObject;

/** The upcasters by event type and the version that they lift from. */
export type Upcasters = Readonly<Partial<Record<EventType, Readonly<Record<number, Upcaster>>>>>;

/** A new version adds its step here and its examples to the golden corpus. */
export const upcasters: Upcasters = {
  ApprovalResponded: { 1: respondedBeforeProposals },
  ResponseWithdrawn: { 1: (data) => ({ ...data, ends: 'unbacked-answer' }) },
  ApprovalEscalated: { 1: (data) => ({ ...data, requirement: 0 }) },
};

function respondedBeforeProposals(data: JsonObject): JsonObject {
  const decision = data['decision'] as JsonObject;
  const lifted = decision['type'] === 'edit' ? { ...decision, ...requiredByEdit(decision['requirement']) } : decision;
  return { ...data, decision: lifted, proposal: null, shown: null };
}

/**
 * Version 1 recorded one requirement, merged out of that of the request and those of the edits; null: it was unchanged.
 * As the second requirement it demands all people of the merged one. It has no end of its own, because the end of the
 * request's requirement holds, and its seats are opened by no escalation: the merged one does not tell whose they are.
 */
function requiredByEdit(merged: JsonValue | undefined): JsonObject {
  if (merged === null || merged === undefined) return { requirement: null, clock: null, keepsRequirements: true };
  const requirement = { ...(merged as JsonObject), ...withoutEnd };
  return { requirement, clock: { expiresAt: null } };
}

const withoutEnd = { expiresInMs: 'never', onTimeout: 'hold', escalation: [], remindersMs: [] } as const;

/**
 * A recorded event in today's schema version. It expects an event that can be read (`toLogEvent`): of a known type, and
 * of no later version.
 */
export function upcast(
  event: RecordedEvent,
  steps: Upcasters = upcasters,
  target = currentSchemaVersion,
): RecordedEvent {
  const version = event.metadata.schemaVersion;
  if (version >= target) return event;
  let data = event.data as JsonObject;
  for (let from = version; from < target; from += 1) {
    const step = steps[event.type]?.[from];
    data = step === undefined ? data : step(data);
  }
  return { ...event, data: data as RecordedEvent['data'], metadata: { ...event.metadata, schemaVersion: target } };
}

/** The member that the newest version of each changed type added: all older ones lack it. */
const addedMembers: Readonly<Partial<Record<EventType, string>>> = {
  ApprovalResponded: 'proposal',
  ResponseWithdrawn: 'ends',
  ApprovalEscalated: 'requirement',
};

/** The version in which the data of an event are stored. For readers of views, which do not say it. */
export function storedVersionOf(type: EventType, data: JsonObject): number {
  const added = addedMembers[type];
  return added === undefined || added in data ? currentSchemaVersion : 1;
}
