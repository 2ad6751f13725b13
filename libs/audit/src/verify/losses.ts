import type { StoredEvent, SystemEventData } from '@countersign/contracts';
import { readStored } from '../legality/stored-events.js';

/** The events by which a log went on without a part of it that was known. */
export interface Losses {
  readonly take: (event: StoredEvent) => void;
  /** What is not known of the lost parts, a sentence for each. */
  readonly sentences: () => readonly string[];
}

type Lost = Partial<
  Pick<SystemEventData<'LogRestored'>, 'from' | 'to' | 'principal'> & Pick<SystemEventData<'LogEndAccepted'>, 'by'>
>;

const namedMax = 10;

/**
 * Nothing is lost yet. Attack: a backup is restored, and no checkpoint was signed of the events that it lacks, so that nothing
 * contradicts the log. That an admin knows of a loss says nothing new about it.
 */
export function createLosses(): Losses {
  const known = new Set<string>();
  const named: string[] = [];
  return {
    take: (event) => {
      if (event.type !== 'LogRestored' && event.type !== 'LogEndAccepted') return;
      const read = readStored(event);
      if ('unreadable' in read) return;
      const lost = read.data as Lost;
      const range = lost.from === undefined ? event.eventId : `${String(lost.from)} ${String(lost.to)}`;
      if (known.has(range)) return;
      known.add(range);
      if (named.length < namedMax) named.push(sentenceOf(event, lost));
    },
    sentences: () =>
      known.size > namedMax ? [...named, `what ${String(known.size - namedMax)} more such events lost`] : named,
  };
}

function sentenceOf({ type, eventId }: StoredEvent, { from, to, principal }: Lost): string {
  const how =
    principal !== undefined
      ? 'a person let the log go on'
      : type === 'LogRestored'
        ? 'a backup was restored'
        : 'an end was accepted';
  return `what was in the log before ${how} (${eventId}): ${missing(from, to)}`;
}

function missing(from: number | undefined, to: number | undefined): string {
  if (from === undefined || to === undefined) return 'how many events it has lost is not recorded';
  if (from <= to) return 'no later event was known, and there may have been some';
  const count = from - to === 1 ? '1 event' : `${String(from - to)} events`;
  return `${count} of all tenants, after position ${String(to)} up to ${String(from)}, were known and are not in it`;
}
