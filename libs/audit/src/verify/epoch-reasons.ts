import type { StoredEvent } from '@countersign/contracts';
import { firstRecordedAt } from '../entry.js';
import { readStored } from '../legality/stored-events.js';
import { isReached } from './compare-anchors.js';
import type { ReachedRoot } from './compare-anchors.js';
import { readAnchors } from './anchors.js';
import type { Anchor } from './anchors.js';
import type { Finding } from './findings.js';

/**
 * Since this version each epoch that contradicts the one before it begins with an event that says why. Versions before it recorded
 * nothing in most logs, and no event of theirs tells which version wrote it, so the time of the record decides.
 */
const recordedSince = '2026-11-29T12:10:24.000Z';

/** The event that says why an epoch ended. */
export interface EpochReason {
  readonly index: number;
  readonly eventId: string;
}

/** The events that say why epochs ended. */
export interface EpochReasons {
  readonly take: (event: StoredEvent, index: number) => void;
  readonly of: (earlier: Anchor) => EpochReason | undefined;
  /** When the last event before a size was first recorded; undefined: it was not taken, or its size is not one of those. */
  readonly timeAt: (size: number) => string | undefined;
}

/**
 * Finds the events that say why epochs ended. Only those about the given checkpoints are kept.
 * @param sizes those at which the time of the record is wanted.
 */
export function createEpochReasons(earlier: readonly Anchor[], sizes: ReadonlySet<number>): EpochReasons {
  const reasons = new Map<Anchor, EpochReason>();
  const times = new Map<number, string>();
  return {
    take: (event, index) => {
      if (earlier.length === 0) return;
      const size = index + 1;
      if (size === 1 || sizes.has(size)) times.set(size, firstRecordedAt(event));
      const named = namedIn(event);
      for (const one of named === undefined ? [] : earlier) {
        // Attack: the event of an earlier end, of which the epoch still has every event, is shown as the reason of a later one.
        if (named?.origin === one.origin && named.size >= one.size) {
          reasons.set(one, { index, eventId: event.eventId });
        }
      }
    },
    of: (one) => reasons.get(one),
    timeAt: (size) => times.get(size),
  };
}

/** The checkpoint of the epoch that ends, as such an event names it. */
function namedIn(event: StoredEvent): Anchor | undefined {
  if (event.type !== 'LogEndAccepted' && event.type !== 'LogRestored') return undefined;
  const read = readStored(event);
  if ('unreadable' in read) return undefined;
  const { checkpoint } = read.data as { readonly checkpoint?: string | null };
  return readAnchors(checkpoint ?? '')?.[0];
}

/** What is compared. */
export interface ComparedEpochs {
  /** The checkpoints of earlier epochs that are kept with the log. */
  readonly earlier: readonly Anchor[];
  readonly since: readonly Anchor[];
  readonly reached: readonly ReachedRoot[];
  readonly reasons: Pick<EpochReasons, 'of' | 'timeAt'>;
}

/**
 * The epochs whose last checkpoint the log contradicts, and no event says why. Attack: somebody cuts the log, lets it go on as the next
 * epoch, and says nothing. A log that only got another name has all that was signed before, and needs no reason.
 */
export function unexplainedEpochs({ earlier, since, reached, reasons }: ComparedEpochs): {
  readonly findings: readonly Finding[];
  readonly unproven: readonly string[];
} {
  const silent = earlier.filter((one) => !isReached(one, reached) && reasons.of(one) === undefined);
  /** Sizes up to which the log is the one of the epoch. */
  const sharedWith = ({ origin }: Anchor): readonly number[] =>
    since.filter((one) => one.origin === origin && isReached(one, reached)).map(({ size }) => size);
  const isNew = (one: Anchor): boolean =>
    [1, ...sharedWith(one)].some((size) => (reasons.timeAt(size) ?? '') >= recordedSince);
  return {
    findings: silent.filter(isNew).map((one) => ({
      ...{ check: 'tree', ok: false, index: Math.max(0, ...sharedWith(one)), eventId: null, stream: null },
      detail: `the log contradicts the last checkpoint of epoch ${String(one.epoch)}, of ${String(one.size)} events, and goes on as a later one; no event (LogEndAccepted, LogRestored) says why`,
    })),
    unproven: silent
      .filter((one) => !isNew(one))
      .map(
        ({ epoch }) =>
          `why epoch ${String(epoch)} ended: no event says so, as versions until ${recordedSince.slice(0, 10)} recorded none`,
      ),
  };
}
