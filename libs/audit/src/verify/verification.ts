import type { StoredEvent } from '@countersign/contracts';
import { entryOf, firstRecordedAt, formatEntry } from '../entry.js';
import type { Entry } from '../entry.js';
import { isSameHash, leafHash } from '../hashes.js';
import type { Hash } from '../hashes.js';
import { createLegality } from '../legality/legality.js';
import type { Judgement } from '../legality/judged-event.js';
import { readStored } from '../legality/stored-events.js';
import type { KnownStreams } from '../legality/streams.js';
import { isStoredTime } from '../legality/times.js';
import { createGrowingTree } from '../tree.js';
import type { Anchor } from './anchors.js';
import { compareAnchors, isReached } from './compare-anchors.js';
import type { ReachedRoot } from './compare-anchors.js';
import { findingOf } from './findings.js';
import type { Finding, Place } from './findings.js';
import { createKnownIds, findingOfRepeated } from './known-ids.js';
import type { KnownIds } from './known-ids.js';
import { createLosses } from './losses.js';
import type { Trust } from './trust.js';
import { createUnproven } from './unproven.js';
import { unprovenEpochs } from './earlier-epochs.js';
import { createEpochReasons, endedEpochs } from './epoch-reasons.js';

/** What a log is verified against, and where its judge remembers streams. */
export interface VerificationOptions extends Trust {
  /** The checkpoints that the auditor kept. */
  readonly since?: readonly Anchor[];
  /** The checkpoints that are kept with the log: the newest one of each epoch, and the newest one with cosignatures. */
  readonly kept?: readonly Anchor[];
  /** The leaves of the tree that is kept with the log, as far as there are any. */
  readonly storedLeaf?: ((index: number) => Hash | undefined) | undefined;
  /** Other sizes at which the root of the tree is wanted. */
  readonly sizes?: readonly number[];
  readonly streams: KnownStreams;
  /** Absent: the ids are kept in memory. */
  readonly ids?: KnownIds;
  /** Whether an event is judged by itself, by the time of its record. Absent: each is. The tree has all of them in any case. */
  readonly isJudged?: (recordedAt: string) => boolean;
  readonly onFinding: (finding: Finding) => void;
}

/** The end of a verification. */
export interface VerificationEnd {
  /** 0: proven; 1: a finding; 3: consistent with itself, and nothing from outside vouches for it. */
  readonly exit: 0 | 1 | 3;
  readonly origin: string | null;
  readonly epoch: number | null;
  readonly size: number;
  readonly root: Hash;
  /** How many events, from the first one on, a key that is trusted vouches for. */
  readonly proven: number;
  /** What could not be proven, as sentences. */
  readonly unproven: readonly string[];
  /** Epochs before this one. The log goes on after something that contradicts what they signed. */
  readonly continued: readonly ContinuedEpoch[];
}

/** An epoch before the one of the log, by its last checkpoint. */
export interface ContinuedEpoch {
  readonly epoch: number;
  readonly size: number;
  readonly root: Hash;
  /** The event that says why it ended; null: the log has none. */
  readonly eventId: string | null;
}

/** A time of the record. Only an event in its stored form can say that it was moved. */
interface Timed {
  readonly recordedAt: string;
  readonly metadata?: unknown;
}

/** Verifies the log of one tenant, event by event, in the order of the log. Its memory does not grow with the log. */
export interface Verification {
  readonly size: () => number;
  readonly take: (event: StoredEvent) => void;
  /** Takes an event whose entry the source has, as the tree has it. */
  readonly takeWithEntry: (event: StoredEvent, entry: string) => void;
  /** Takes an event of which the source has the entry alone: a commitment. */
  readonly commit: (entry: Entry) => void;
  /** Reports damage that the source of the events found, at the next event. */
  readonly note: (finding: Pick<Finding, 'check' | 'detail'> & Partial<Place>) => void;
  /** The root at a size that was wanted; undefined where the log did not reach it. */
  readonly rootAt: (size: number) => Hash | undefined;
  readonly end: () => VerificationEnd;
}

/** A verification with nothing read yet. */
export function createVerification(options: VerificationOptions): Verification {
  const { streams, ids = createKnownIds(), since = [], storedLeaf, isJudged, keys, policy, changes = [] } = options;
  const byEpoch = (options.kept ?? []).toSorted((one, other) => other.epoch - one.epoch);
  const kept = byEpoch.filter(({ epoch }) => epoch === byEpoch[0]?.epoch);
  const earlier = byEpoch.filter(({ epoch }, at) => at >= kept.length && epoch !== byEpoch[at - 1]?.epoch);
  const anchors = [...since, ...kept];
  const sizes = new Set([...[...anchors, ...earlier, ...changes].map(({ size }) => size), ...(options.sizes ?? [])]);
  const reasons = createEpochReasons(earlier, sizes, { keys, policy, changes });
  const legality = createLegality(streams);
  const unproven = createUnproven();
  const losses = createLosses();
  const tree = createGrowingTree();
  const reached: ReachedRoot[] = [];
  let [findings, firstDifference] = [0, -1];
  const report = (finding: Finding): void => {
    findings += 1;
    options.onFinding(finding);
  };
  const reach = (): void => {
    if (sizes.has(tree.size())) reached.push({ size: tree.size(), root: tree.root() });
  };
  const judge = (event: StoredEvent, place: Place): Judgement => {
    const readable = readStored(event);
    if (!('unreadable' in readable)) return legality.judge(readable);
    if (isReported(event)) report({ check: 'read', ok: false, ...place, detail: readable.unreadable });
    return legality.setAside(event);
  };
  const isReported = ({ recordedAt, metadata }: Timed): boolean => {
    const at = firstRecordedAt({ recordedAt, metadata });
    // Attack: a time that is in no period.
    return !isStoredTime(at) || (isJudged?.(at) ?? true);
  };
  const append = (entry: string): void => {
    const index = tree.size();
    const leaf = leafHash(entry);
    const stored = firstDifference === -1 ? storedLeaf?.(index) : undefined;
    if (stored !== undefined && !isSameHash(stored, leaf)) firstDifference = index;
    tree.append(leaf);
    reach();
  };
  const add = (event: Pick<Entry, 'eventId' | 'stream'> & Timed, judged: (place: Place) => Judgement): void => {
    const place = { index: tree.size(), eventId: event.eventId, stream: event.stream };
    ids.add(place.eventId, place.index);
    const { illegal, unproven: missing } = judged(place);
    if (!isReported(event)) {
      unproven.add('outside', place.index);
      return;
    }
    for (const broken of illegal) report(findingOf(broken, place));
    for (const what of missing) unproven.add(what, place.index);
  };
  const takeWithEntry: Verification['takeWithEntry'] = (event, entry) => {
    if (firstRecordedAt(event) !== event.recordedAt) unproven.add('moved', tree.size());
    reasons.take(event, tree.size());
    losses.take(event);
    add(event, (place) => judge(event, place));
    append(entry);
  };
  reach();
  return {
    size: tree.size,
    take: (event) => {
      takeWithEntry(event, entryOf(event));
    },
    takeWithEntry,
    commit: (entry) => {
      add(entry, ({ index }) => {
        unproven.add('commitment', index);
        return legality.setAside(entry);
      });
      append(formatEntry(entry));
    },
    note: (finding) => {
      report({ ok: false, index: tree.size(), eventId: null, stream: null, ...finding });
    },
    rootAt: (size) => reached.find((one) => one.size === size)?.root,
    end: () => {
      const size = tree.size();
      const trust = { keys, policy, changes: changes.filter((change) => isReached(change, reached)) };
      const compared = compareAnchors({ since, kept, ...trust, reached, size, firstDifference, storedLeaf });
      const top = anchors.toSorted((one, other) => other.size - one.size)[0];
      const ended = endedEpochs({ newest: kept[0], earlier, since, reached, reasons });
      [...compared.findings, ...ended.findings].forEach(report);
      for (const repeated of ids.repeated()) report(findingOfRepeated(repeated));
      const sentences = [
        ...unproven.sentences(legality.unknownPolicies()),
        ...losses.sentences(),
        ...compared.unproven,
        ...ended.unproven,
        ...unprovenEpochs({ epoch: top?.epoch ?? 1, earlier, keys, policy, changes }),
      ];
      return {
        exit: findings > 0 ? 1 : compared.isVouched ? 0 : 3,
        origin: top?.origin ?? null,
        epoch: top?.epoch ?? null,
        ...{ size, root: tree.root(), proven: compared.proven, unproven: sentences },
        continued: ended.continued,
      };
    },
  };
}
