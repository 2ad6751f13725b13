import { canonicalForm } from '../canonical.js';
import { canonicalBody, digestOfBody, parseEntry, tenantOf } from '../entry.js';
import type { Entry } from '../entry.js';
import { isSameHash, leafHash } from '../hashes.js';
import { builtInPolicyVersion, digestOf } from '../legality/digests.js';
import { createLegality } from '../legality/legality.js';
import type { Legality } from '../legality/legality.js';
import { readStored } from '../legality/stored-events.js';
import type { KnownStream } from '../legality/streams.js';
import { parseTlogProof } from '../tlog-proof.js';
import { verifyInclusion } from '../verify-proofs.js';
import { isOfTenant, readAnchors } from './anchors.js';
import type { Anchor } from './anchors.js';
import { findingOf } from './findings.js';
import { keyChangeOf } from './key-changes.js';
import type { KeyChange } from './key-changes.js';
import type { CheckName, Finding, Place } from './findings.js';
import { createKnownIds, findingOfRepeated } from './known-ids.js';
import type { ProofFile, ProofFileEvent } from './proof-file.js';
import { hasTrust, isUndecided, passedOnSentences, uncheckedSentences, whyNoQuorum, whyNotByLog } from './trust.js';
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
  const report: Report = (finding) => {
    findings += 1;
    trust.onFinding(finding);
  };
  const about: About = (check, detail) => {
    report({ check, ok: false, index: 0, eventId: null, stream: null, detail });
  };
  const [anchor, ...more] = readAnchors(file.checkpoint) ?? [];
  if (anchor === undefined || more.length > 0) {
    about('read', 'its checkpoint cannot be read');
    return { ...unread, root: new Uint8Array(0) };
  }
  const unproven = judgeEvents(file, anchor, report);
  const changes = judgeKeyChanges(file, anchor, about);
  const isVouched = judgeCheckpoint(file, anchor, { ...trust, changes }, about);
  const { isCompared, others } = compareSince(anchor, trust.since, about);
  const { origin, epoch, size, root } = anchor;
  return {
    exit: findings > 0 ? 1 : isVouched && isCompared ? 0 : 3,
    ...{ origin, epoch, size, root, proven: isVouched ? size : 0, continued: [] },
    unproven: [
      ...unproven,
      ...others,
      ...uncheckedSentences([anchor], { ...trust, changes }),
      ...passedOnSentences([anchor], { ...trust, changes }),
      ...(hasTrust(trust) ? [] : ['that the log is the one that it says: no key was given (--vkey)']),
      'that no stop, no end of its run and no restore forbade it: only the whole log can show that',
      `that nothing of the call followed after event ${String(lastOfCall(file))} of the log: only the whole log can show that`,
    ],
  };
}

/** Attack: the last event of a call, such as its denial, is left out, and the file is said to be complete up to the end of the log. */
function lastOfCall({ events, callId }: ProofFile): number {
  return events.findLast(({ entry }) => parseEntry(entry)?.stream === `toolCall-${callId}`)?.index ?? 0;
}

type Report = (finding: Finding) => void;
type About = (check: CheckName, detail: string) => void;

const unread = { exit: 1, origin: null, epoch: null, size: 0, proven: 0, unproven: [], continued: [] } as const;

/** The changes of the log key that the file has. Attack: one that nothing covers, which a person reads. */
function judgeKeyChanges({ keyChanges = [] }: ProofFile, anchor: Anchor, about: About): readonly KeyChange[] {
  const changes = keyChanges.map(keyChangeOf).filter((change) => change !== undefined);
  const ofLog = changes.filter(({ origin, size }) => origin === anchor.origin && size <= anchor.size);
  if (ofLog.length < keyChanges.length) about('tree', 'a change of the log key in it cannot be verified');
  return ofLog;
}

/** Returns whether something that is trusted vouches for the checkpoint. */
function judgeCheckpoint(file: ProofFile, anchor: Anchor, trust: ProofTrust, about: About): boolean {
  if (anchor.origin !== file.origin || !isOfTenant(anchor, file.tenant)) {
    about('tree', 'its checkpoint is of another log than it says');
  }
  if (!hasTrust(trust)) return false;
  const why = whyNotByLog(anchor, trust) ?? whyNoQuorum(anchor, trust);
  if (why !== undefined && !isUndecided(anchor, trust)) about('signature', `the checkpoint: ${why}`);
  return why === undefined;
}

/**
 * Compares with kept checkpoints of the same size: a proof of one call can show no other consistency. Attack: the owner of the log
 * key signs a rewritten log, and proves a call in it to an auditor who has a checkpoint of another size.
 */
function compareSince(anchor: Anchor, since: readonly Anchor[], about: About) {
  const others = since.filter(({ size, origin }) => size !== anchor.size || origin !== anchor.origin);
  for (const kept of since) {
    if (!others.includes(kept) && !isSameHash(kept.root, anchor.root))
      about('since', 'the checkpoint that was kept has the same size and another root');
  }
  const isCompared = since.length === 0 || others.length < since.length;
  const what =
    'that the log agrees with the checkpoints of other sizes that were kept: only the whole log can show that';
  return { isCompared, others: others.length === 0 ? [] : [what] };
}

function placeOf(index: number, entry: Entry | undefined): Place {
  return entry === undefined ? { index, eventId: null, stream: null } : { index, ...idsOf(entry) };
}

const idsOf = ({ eventId, stream }: Entry) => ({ eventId, stream });

/** Judges the events in the order of the log. Returns what could not be proven. */
function judgeEvents(file: ProofFile, anchor: Anchor, report: Report): readonly string[] {
  const streams = new Map<string, KnownStream>();
  const legality = createLegality(streams, { policies: file.policies.filter(isOfVersion), isWhole: false });
  const unproven = createUnproven();
  const ids = createKnownIds();
  let [last, hasBatch] = [-1, false];
  for (const event of file.events) {
    const { index } = event;
    const entry = parseEntry(event.entry);
    const place = placeOf(index, entry);
    const fault = faultOf(event, entry, file, anchor);
    if (fault !== undefined) report({ ok: false, ...place, ...fault });
    if (index <= last) report({ check: 'order', ok: false, ...place, detail: 'it follows a later event' });
    last = Math.max(last, index);
    if (entry === undefined) continue;
    ids.add(entry.eventId, index);
    hasBatch ||= entry.type === 'BatchBegun';
    judgeOne(legality, event.body, entry, { place, report, streams, add: unproven.add });
  }
  for (const repeated of ids.repeated()) report(findingOfRepeated(repeated));
  if (!streams.has(`toolCall-${file.callId}`)) {
    report({ check: 'order', ok: false, index: 0, eventId: null, stream: null, detail: 'it has no event of its call' });
  }
  const missing = missingPolicies(file, legality.unrecordedPolicies(), report);
  const siblings = 'that the other members of its batch could run: they are not in the proof';
  // Attack: the removal of a passkey is left out. Nothing after it in its stream shows the gap.
  const removed = 'that no passkey was removed before it signed: only the whole log can show that';
  const hasPasskeys = streams.has(`passkeys-${file.tenant}`);
  return [...unproven.sentences(missing), ...(hasBatch ? [siblings] : []), ...(hasPasskeys ? [removed] : [])];
}

interface Judging {
  readonly place: Place;
  readonly report: Report;
  readonly streams: Map<string, KnownStream>;
  readonly add: ReturnType<typeof createUnproven>['add'];
}

function judgeOne(
  legality: Legality,
  body: ProofFileEvent['body'],
  entry: Entry,
  { place, report, streams, add }: Judging,
): void {
  if (body === null) {
    add('commitment', place.index);
    for (const one of legality.setAside(entry).illegal) report(findingOf(one, place));
    return;
  }
  const readable = readStored({ ...entry, position: 0, ...body });
  if ('unreadable' in readable) {
    legality.setAside(entry);
    report({ check: 'read', ok: false, ...place, detail: readable.unreadable });
    return;
  }
  if (readable.type === 'BatchBegun') setSiblingsAside(readable.data as Members, streams);
  const { illegal, unproven } = legality.judge(readable);
  for (const what of unproven) add(what, place.index);
  for (const one of illegal) report(findingOf(one, place));
}

interface Members {
  readonly callIds: readonly string[];
}

/** The other members of a batch are not in the proof, so the judge cannot say whether they could run. */
function setSiblingsAside({ callIds }: Members, streams: Map<string, KnownStream>): void {
  for (const stream of callIds.map((callId) => `toolCall-${callId}`)) {
    if (!streams.has(stream)) streams.set(stream, { next: 0, state: { kind: 'set-aside' } });
  }
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
  return body === null ? undefined : faultOfBody(body, entry, tenant);
}

function faultOfBody(body: NonNullable<ProofFileEvent['body']>, entry: Entry, tenant: string) {
  const covered = canonicalBody(body);
  if (digestOfBody(covered) !== entry.body) {
    return { check: 'body', detail: 'its content is not the one of its entry' } as const;
  }
  // Attack: the note of a move, which no hash covers, says something to a person who reads the file.
  if (canonicalForm(body) !== covered) {
    return { check: 'body', detail: 'its content has more than its entry covers' } as const;
  }
  const isOfLog = tenantOf(body) === tenant;
  return isOfLog ? undefined : ({ check: 'read', detail: 'its metadata name another tenant' } as const);
}

function isOfVersion({ policyVersion, content }: ProofFile['policies'][number]): boolean {
  return digestOf(content) === policyVersion;
}

/** The cited policies whose content is neither in the events nor in the file. */
function missingPolicies(file: ProofFile, cited: readonly string[], report: Report): readonly string[] {
  const { tenant, policies, events } = file;
  const isWhole = events.every(({ body }) => body !== null);
  const nowhere = { index: 0, eventId: null, stream: null };
  for (const { policyVersion, content } of policies) {
    if (isOfVersion({ policyVersion, content })) continue;
    const detail = `the policy ${policyVersion} has another content than its version says`;
    report({ check: 'policy', ok: false, ...nowhere, detail });
  }
  const shown = new Set(policies.map(({ policyVersion }) => policyVersion));
  // Attack: a policy that judged nothing stands beside the one that did. What a hidden event cites is not known.
  const other = isWhole ? [...shown].find((version) => !cited.includes(version)) : undefined;
  if (other !== undefined) {
    report({ check: 'policy', ok: false, ...nowhere, detail: `the policy ${other} has judged no event of the file` });
  }
  return cited.filter((version) => !shown.has(version) && version !== builtInPolicyVersion(tenant));
}
