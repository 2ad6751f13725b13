import type { StoredEvent } from '@countersign/contracts';
import { firstRecordedAt } from '../entry.js';
import { isSameHash } from '../hashes.js';
import { readStored } from '../legality/stored-events.js';
import { parseOrigin } from '../origin.js';
import { isReached } from './compare-anchors.js';
import type { ReachedRoot } from './compare-anchors.js';
import { readAnchors } from './anchors.js';
import type { Anchor } from './anchors.js';
import type { Finding } from './findings.js';
import { whyNotByLog } from './trust.js';
import type { Trust } from './trust.js';

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
  /** The event that says why an epoch ended, and that is not among the first events, which the epoch has too. */
  readonly of: (earlier: Anchor, shared: number) => EpochReason | undefined;
  /** When the last event before a size was first recorded; undefined: it was not taken, or its size is not one of those. */
  readonly timeAt: (size: number) => string | undefined;
}

/**
 * Finds the events that say why epochs ended. Only those about the given checkpoints are kept.
 * @param sizes those at which the time of the record is wanted.
 */
export function createEpochReasons(earlier: readonly Anchor[], sizes: ReadonlySet<number>, trust: Trust): EpochReasons {
  const reasons = new Map<Anchor, EpochReason>();
  const times = new Map<number, string>();
  return {
    take: (event, index) => {
      if (earlier.length === 0) return;
      const size = index + 1;
      if (size === 1 || sizes.has(size)) times.set(size, firstRecordedAt(event));
      const named = namedIn(event);
      for (const one of named === undefined ? [] : earlier) {
        if (isLast(named, one, trust)) reasons.set(one, { index, eventId: event.eventId });
      }
    },
    of: (one, shared) => {
      const reason = reasons.get(one);
      return reason === undefined || reason.index < shared ? undefined : reason;
    },
    timeAt: (size) => times.get(size),
  };
}

/**
 * Returns whether an event names the last checkpoint of an epoch. Attacks: it names an earlier one, of which the epoch still has every
 * event; or a larger one that was never signed, or that the owner of the key signed long before, to explain every later end.
 */
function isLast(named: Anchor | undefined, last: Anchor, trust: Trust): boolean {
  if (named?.origin !== last.origin || named.size !== last.size || !isSameHash(named.root, last.root)) return false;
  return whyNotByLog(named, trust) === undefined || whyNotByLog(last, trust) !== undefined;
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
  /** The checkpoint of the last epoch that is the largest. */
  readonly newest: Anchor | undefined;
  /** The checkpoints of earlier epochs that are kept with the log, the latest epoch first. */
  readonly earlier: readonly Anchor[];
  readonly since: readonly Anchor[];
  readonly reached: readonly ReachedRoot[];
  readonly reasons: Pick<EpochReasons, 'of' | 'timeAt'>;
}

/** How epochs ended. */
export interface EndedEpochs {
  readonly findings: readonly Finding[];
  readonly unproven: readonly string[];
  readonly continued: readonly (Pick<Anchor, 'epoch' | 'size' | 'root'> & { readonly eventId: string | null })[];
}

/**
 * The epochs that went on as a later one, and no event says why. Attacks: somebody cuts the log, lets it go on as the next epoch, and
 * says nothing; or puts an older checkpoint in the place of the last one of the epoch, which the log still agrees with. Only a log
 * that got another name has all that was signed before, and needs no reason.
 */
export function endedEpochs({ newest, earlier, since, reached, reasons }: ComparedEpochs): EndedEpochs {
  /** Sizes up to which the log is the one of the epoch. */
  const sharedWith = (one: Anchor): readonly number[] =>
    [...since.filter(({ origin }) => origin === one.origin), one]
      .filter((anchor) => isReached(anchor, reached))
      .map(({ size }) => size);
  const ended = earlier.map((one, at) => {
    const shared = sharedWith(one);
    const reason = reasons.of(one, Math.max(0, ...shared));
    const isRenamed = isReached(one, reached) && !isNextUnderName(one, at === 0 ? newest : earlier[at - 1]);
    const isNew = [1, ...shared].some((size) => (reasons.timeAt(size) ?? '') >= recordedSince);
    return { one, shared, reason, isRenamed, isNew };
  });
  /** A later epoch lost its end, and says why: the event may have been in it. */
  const isLost = ({ epoch }: Anchor): boolean =>
    ended.some(({ one, reason }) => one.epoch > epoch && reason !== undefined && !isReached(one, reached));
  const silent = ended.filter(({ reason, isRenamed }) => reason === undefined && !isRenamed);
  return {
    findings: silent
      .filter(({ one, isNew }) => isNew && !isLost(one))
      .map(({ one, shared }) => unexplained(one, Math.max(0, ...shared))),
    unproven: [
      ...silent.filter(({ isNew }) => !isNew).map(({ one }) => unrecorded(one)),
      ...silent.filter(({ one, isNew }) => isNew && isLost(one)).map(({ one }) => lost(one)),
      ...ended.filter(({ reason, isRenamed }) => reason === undefined && isRenamed).map(({ one }) => renamed(one)),
    ],
    continued: ended.map(({ one: { epoch, size, root }, reason }) => ({
      ...{ epoch, size, root },
      eventId: reason?.eventId ?? null,
    })),
  };
}

/** Returns whether a checkpoint is of the very next epoch, of a log with the same name. */
function isNextUnderName({ origin, epoch }: Anchor, later: Anchor | undefined): boolean {
  return later?.epoch === epoch + 1 && parseOrigin(later.origin)?.base === parseOrigin(origin)?.base;
}

function unexplained({ epoch, size }: Anchor, index: number): Finding {
  const detail = `epoch ${String(epoch)} ended at a checkpoint of ${String(size)} events, and the log goes on as a later one; no event (LogEndAccepted, LogRestored) says why and names that checkpoint`;
  return { check: 'tree', ok: false, index, eventId: null, stream: null, detail };
}

function unrecorded({ epoch }: Anchor): string {
  return `why epoch ${String(epoch)} ended: no event says so, as versions until ${recordedSince.slice(0, 10)} recorded none`;
}

function lost({ epoch }: Anchor): string {
  return `why epoch ${String(epoch)} ended: no event says so; it may be among the events that a later epoch has lost`;
}

function renamed({ epoch, size }: Anchor): string {
  return `where epoch ${String(epoch)} ended: the log got another name after its checkpoint of ${String(size)} events, and more may have been signed under the old name`;
}
