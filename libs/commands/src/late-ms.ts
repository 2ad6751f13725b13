import type { RecordedEvent } from '@countersign/contracts';

/** The members of events that say when a time limit began. */
const beginnings = ['requestedAt', 'respondedAt', 'escalatedAt', 'claimedAt', 'renewedAt'] as const;

/** Returns how many ms after its own time an event was recorded; 0 when it begins no time limit. */
export function lateMsOf({ data, recordedAt }: Pick<RecordedEvent, 'data' | 'recordedAt'>): number {
  const members = data as Readonly<Record<string, unknown>>;
  for (const name of beginnings) {
    const at = members[name];
    if (typeof at === 'string') return Math.max(0, Date.parse(recordedAt) - Date.parse(at));
  }
  return 0;
}
