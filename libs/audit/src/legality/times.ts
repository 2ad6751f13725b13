import type { EventData } from '@countersign/contracts';
import type { JudgedEvent } from './judged-event.js';

/** Returns whether a text is a time as it is stored. Only such times sort as texts. */
export function isStoredTime(text: string): boolean {
  // Each event is asked about some times.
  if (text === lastStored) return true;
  const at = text.length === 'YYYY-MM-DDTHH:mm:ss.sssZ'.length ? Date.parse(text) : NaN;
  // Attack: a day that is in no month, which programs read differently.
  if (Number.isNaN(at) || new Date(at).toISOString() !== text) return false;
  lastStored = text;
  return true;
}

let lastStored: string | undefined;

/** The stored time `ms` milliseconds after a stored time; null for `never`. */
export function storedAfter(stored: string, ms: number | 'never'): string | null {
  return ms === 'never' ? null : new Date(Date.parse(stored) + ms).toISOString();
}

/** Returns whether a stored time is more than `ms` milliseconds before another one. Most are not before it at all. */
export function isBeforeBy(ms: number, stored: string, other: string): boolean {
  return stored < other && (storedAfter(stored, ms) ?? '') < other;
}

/** How far the clock of a process may differ from that of the store: beyond it, a process lets no time come. */
export const skewMsMax = 2000;

/** Members of events with the time at which a limit of a call began. */
const beginnings = ['requestedAt', 'respondedAt', 'escalatedAt', 'claimedAt', 'renewedAt'] as const;

/**
 * How many milliseconds after the beginning of the limit that now runs its event was recorded, as far as no clock explains it. The
 * limits of a call follow each other: those of a question, the right to run, and the lease. Attack: what began an earlier one says
 * an old time, so that a vote or a claim may come as much later. A request begins none.
 */
export function lateMsOf(event: Pick<JudgedEvent, 'type' | 'data' | 'recordedAt'>, before = 0): number {
  const { resolution, decision } = event.data as Partial<EventData<'ApprovalResponded'>>;
  switch (event.type) {
    case 'ApprovalRequested':
    case 'ExecutionClaimed':
    case 'ExecutionClaimRenewed':
      return ownLateMs(event);
    case 'ApprovalEscalated':
      return Math.max(before, ownLateMs(event));
    case 'ApprovalResponded':
      if (resolution !== 'pending') return ownLateMs(event);
      return decision?.type === 'edit' ? Math.max(before, ownLateMs(event)) : before;
    default:
      return before;
  }
}

function ownLateMs({ data, recordedAt }: Pick<JudgedEvent, 'data' | 'recordedAt'>): number {
  const members = data as Readonly<Record<string, unknown>>;
  const begun = beginnings.map((name) => members[name]).find((at) => typeof at === 'string');
  const lateMs = begun === undefined ? 0 : Date.parse(recordedAt) - Date.parse(begun);
  return lateMs > skewMsMax ? lateMs : 0;
}

/**
 * Returns whether a deadline had come by what an event says, and by when it was recorded. Attacks: an event says that it
 * happens tomorrow, so that silence approves, or a second run begins, at once; or what began the time says that it happened
 * long ago.
 * @param lateMs how late the events were recorded that began a limit of the call: its time counts from the record.
 */
export function hasBecomeDue(
  deadline: string | null | undefined,
  stated: string,
  { recordedAt }: { readonly recordedAt: string },
  { lateMs = 0 }: { readonly lateMs?: number },
): boolean {
  return hasCome(deadline, stated) && !isBeforeBy(skewMsMax, recordedAt, String(storedAfter(String(deadline), lateMs)));
}

/**
 * Returns whether an event was recorded after an end, as it counts from the record of its beginning. Attack: what came too late
 * says a time at which it was not.
 */
export function isPastEnd(
  end: string | null | undefined,
  { recordedAt }: { readonly recordedAt: string },
  { lateMs = 0 }: { readonly lateMs?: number },
): boolean {
  return typeof end === 'string' && isBeforeBy(skewMsMax + lateMs, end, recordedAt);
}

/** Returns whether a deadline has come at a stored time; never for null. Stored times sort as texts. */
export function hasCome(deadline: string | null | undefined, at: string): boolean {
  return typeof deadline === 'string' && deadline <= at;
}
