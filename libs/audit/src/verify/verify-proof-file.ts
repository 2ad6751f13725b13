import { bodyOf, parseEntry } from '../entry.js';
import type { Entry } from '../entry.js';
import { isSameHash, leafHash } from '../hashes.js';
import { digestOf } from '../legality/digests.js';
import { createLegality } from '../legality/legality.js';
import type { Legality } from '../legality/legality.js';
import { readStored } from '../legality/stored-events.js';
import type { KnownStream } from '../legality/streams.js';
import { parseTlogProof } from '../tlog-proof.js';
import { verifyInclusion } from '../verify-proofs.js';
import { isOfTenant, readAnchors } from './anchors.js';
import type { Anchor } from './anchors.js';
import { findingOf } from './findings.js';
import type { CheckName, Finding, Place } from './findings.js';
import type { ProofFile, ProofFileEvent } from './proof-file.js';
import { hasTrust, whyNoQuorum, whyNotByLog } from './trust.js';
import type { Trust } from './trust.js';
import { createUnproven } from './unproven.js';
import type { VerificationEnd } from './verification.js';

/** What a proof is verified against. */
export interface ProofTrust extends Trust {
  /** The checkpoints that the auditor kept. */
  readonly since: readonly Anchor[];
  readonly onFinding: (finding: Finding) => void;
}

/**
 * Verifies a proof file: each event is the one of its entry, each entry is in the tree of the checkpoint, the streams have no
 * gap from their first event, each event is legal, and a key that is trusted vouches for the checkpoint.
 */
export function verifyProofFile(file: ProofFile, trust: ProofTrust): VerificationEnd {
  let findings = 0;
  const report = (finding: Finding): void => {
    findings += 1;
    trust.onFinding(finding);
  };
  const anchors = readAnchors(file.checkpoint) ?? [];
  const [anchor] = anchors;
  const nowhere = { index: 0, eventId: null, stream: null };
  const about = (check: CheckName, detail: string): void => {
    report({ check, ok: false, ...nowhere, detail });
  };
  if (anchor === undefined || anchors.length > 1) {
    about('read', 'its checkpoint cannot be read');
    return {
      exit: 1,
      origin: null,
      epoch: null,
      size: 0,
      root: new Uint8Array(0),
      proven: 0,
      unproven: [],
      continued: [],
    };
  }
  if (anchor.origin !== file.origin || !isOfTenant(anchor, file.tenant)) {
    about('tree', 'its checkpoint is of another log than it says');
  }
  const unproven = judgeEvents(file, anchor, report);
  const why = hasTrust(trust) ? (whyNotByLog(anchor, trust) ?? whyNoQuorum(anchor, trust)) : undefined;
  if (why !== undefined) about('signature', `the checkpoint: ${why}`);
  const since = compareSince(anchor, trust.since, about);
  const isVouched = hasTrust(trust) && why === undefined;
  const noKey = hasTrust(trust) ? [] : ['that the log is the one that it says: no key was given (--vkey)'];
  return {
    exit: findings > 0 ? 1 : isVouched ? 0 : 3,
    ...{ origin: anchor.origin, epoch: anchor.epoch, size: anchor.size, root: anchor.root },
    proven: isVouched ? anchor.size : 0,
    unproven: [
      ...unproven,
      ...since,
      ...noKey,
      `that nothing of the call followed after event ${String(anchor.size - 1)} of the log: only the whole log can show that`,
    ],
    continued: [],
  };
}

/** Compares with kept checkpoints of the same size: a proof of one call can show no other consistency. */
function compareSince(
  anchor: Anchor,
  since: readonly Anchor[],
  about: (check: CheckName, detail: string) => void,
): readonly string[] {
  const others = since.filter(({ size, origin }) => size !== anchor.size || origin !== anchor.origin);
  for (const kept of since) {
    if (!others.includes(kept) && !isSameHash(kept.root, anchor.root))
      about('since', 'the checkpoint that was kept has the same size and another root');
  }
  return others.length === 0 ? [] : ['that the log agrees with the checkpoints of other sizes that were kept'];
}

type Report = (finding: Finding) => void;

/** Judges the events in the order of the log. Returns what could not be proven. */
function judgeEvents(file: ProofFile, anchor: Anchor, report: Report): readonly string[] {
  const streams = new Map<string, KnownStream>();
  const legality = createLegality(streams);
  const unproven = createUnproven();
  let [last, siblings] = [-1, 0];
  for (const event of file.events) {
    const entry = parseEntry(event.entry);
    const place = { index: event.index, eventId: entry?.eventId ?? null, stream: entry?.stream ?? null };
    const fault = faultOf(event, entry, file, anchor);
    if (fault !== undefined) report({ ok: false, ...place, ...fault });
    if (event.index <= last) report({ check: 'order', ok: false, ...place, detail: 'it follows a later event' });
    last = Math.max(last, event.index);
    if (entry === undefined) continue;
    if (event.body === null) {
      unproven.add('commitment', event.index);
      for (const one of legality.setAside(entry).illegal) report(findingOf(one, place));
      continue;
    }
    siblings += judgeOne(legality, event.body, entry, { place, report, streams, add: unproven.add });
  }
  const call = streams.get(`toolCall-${file.callId}`);
  if (call === undefined) {
    report({ check: 'order', ok: false, index: 0, eventId: null, stream: null, detail: 'it has no event of its call' });
  }
  const missing = missingPolicies(file, legality.unrecordedPolicies(), report);
  return [
    ...unproven.sentences(missing),
    ...(siblings > 0 ? ['that the other members of its batch could run: they are not in the proof'] : []),
  ];
}

interface Judging {
  readonly place: Place;
  readonly report: Report;
  readonly streams: Map<string, KnownStream>;
  readonly add: ReturnType<typeof createUnproven>['add'];
}

/** Returns 1 for the begin of a batch, whose other members are not here. */
function judgeOne(
  legality: Legality,
  { data, metadata }: NonNullable<ProofFileEvent['body']>,
  entry: Entry,
  { place, report, streams, add }: Judging,
): 0 | 1 {
  const readable = readStored({ ...entry, position: 0, data, metadata });
  if ('unreadable' in readable) {
    legality.setAside(entry);
    report({ check: 'read', ok: false, ...place, detail: readable.unreadable });
    return 0;
  }
  const { illegal, unproven } = legality.judge(readable);
  for (const what of unproven) add(what, place.index);
  const isBegin = readable.type === 'BatchBegun';
  for (const one of illegal) if (!isBegin || one.rule !== 'batch') report(findingOf(one, place));
  if (!isBegin) return 0;
  streams.set(entry.stream, { next: 1, state: { kind: 'batch', status: 'begun' } });
  return 1;
}

/** What is wrong with the bytes of an event or with its proof. */
function faultOf(
  { index, entry: text, body, proof: proofText }: ProofFileEvent,
  entry: Entry | undefined,
  { tenant, checkpoint }: ProofFile,
  { size, root }: Anchor,
): Pick<Finding, 'check' | 'detail'> | undefined {
  if (entry === undefined) return { check: 'read', detail: 'its entry is none' };
  const proof = parseTlogProof(proofText);
  if (proof === undefined) return { check: 'read', detail: 'its proof cannot be read' };
  if (proof.index !== index || proof.note !== checkpoint) {
    return { check: 'tree', detail: 'its proof is of another event or of another checkpoint' };
  }
  if (!verifyInclusion({ index, size, leaf: leafHash(text), root, proof: proof.path })) {
    return { check: 'tree', detail: 'its entry is not in the log of the checkpoint' };
  }
  if (body === null) return undefined;
  if (bodyOf(body) !== entry.body) return { check: 'read', detail: 'its content is not the one of its entry' };
  const { metadata } = body;
  const owner = typeof metadata === 'object' && metadata !== null && 'tenant' in metadata ? metadata.tenant : undefined;
  return owner === tenant ? undefined : { check: 'read', detail: 'its metadata name another tenant' };
}

/** The cited policies whose content is neither in the events nor in the file. */
function missingPolicies({ policies }: ProofFile, cited: readonly string[], report: Report): readonly string[] {
  const nowhere = { index: 0, eventId: null, stream: null };
  for (const { policyVersion, content } of policies) {
    if (digestOf(content) === policyVersion) continue;
    const detail = `the policy ${policyVersion} has another content than its version says`;
    report({ check: 'policy', ok: false, ...nowhere, detail });
  }
  const shown = new Set(policies.map(({ policyVersion }) => policyVersion));
  return cited.filter((version) => !shown.has(version));
}
