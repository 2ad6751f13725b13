import { grantLimits, isRunCancellationStream, subjectStream, systemEventTypes } from '@countersign/contracts';
import type { GrantTerms } from '@countersign/contracts';
import { digestOf } from './digests.js';
import { illegal, isCallType, isSealedAt } from './judged-event.js';
import type { Illegal, JudgedEvent, Unproven } from './judged-event.js';
import { isSameName } from './names.js';
import { countsPrefix } from './places.js';
import { batchStreamOf } from './requests.js';
import type { BatchState, GrantState, KnownStreams, PolicyState, StreamState } from './streams.js';
import { hasCome, isBeforeBy, isPastEnd, skewMsMax } from './times.js';

type Next<State> = Illegal | State;

/** The uses of a grant that names no number of them. */
const grantUsesMax = 10_000;

/** Judges an event of a grant's stream. */
export function judgeGrant(event: JudgedEvent, grant: GrantState | undefined): Next<GrantState> {
  const { grantId } = event.data as { readonly grantId?: string };
  const isPlaced = grantId === undefined || event.stream === `grant-${grantId}`;
  if (!isPlaced) return illegal('stream', 'its grantId is not that of its stream');
  if (event.type === 'GrantProposed' || event.type === 'GrantCreated') return granted(event, grant);
  if (grant === undefined) return illegal('grant', 'no such grant is recorded');
  switch (event.type) {
    case 'GrantConfirmed':
      return confirmed(event, grant);
    case 'GrantUsed':
      return used(event, grant);
    case 'GrantRevoked':
      return revoked(event, grant);
    default:
      return illegal('stream', `an event of the type ${event.type} has no place in the stream of a grant`);
  }
}

function granted(event: JudgedEvent, grant: GrantState | undefined): Next<GrantState> {
  const terms = event.data as GrantTerms;
  if (grant !== undefined) return illegal('grant', 'its terms are recorded already');
  if (terms.tenant !== event.metadata.tenant) return illegal('stream', 'it is a grant of another tenant');
  const isProposed = event.type === 'GrantProposed';
  if (isProposed !== (terms.risk === 'high')) return illegal('grant', 'a grant of high risk waits for a second person');
  const broken = notGivable(event, terms);
  if (broken !== undefined) return broken;
  const { createdBy, toolName, risk, expiresAt, maxUses, groups, assurance, isListed } = terms;
  const usesMax = Math.min(maxUses ?? grantUsesMax, grantUsesMax);
  return {
    kind: 'grant',
    status: isProposed ? 'pending' : 'active',
    createdBy,
    confirmedBy: null,
    toolName,
    risk,
    ...{ expiresAt, revoked: null, groups, assurance, isListed, givenAt: event.recordedAt },
    usesMax,
    ...{ callIds: [], runIds: [] },
    scope: scopeOf(event, terms),
  };
}

/** Attacks: a grant outlasts every limit, also by a time ahead; or it is of somebody who gives none, or as sure as a signature. */
function notGivable(
  { data, recordedAt }: JudgedEvent,
  { createdAt, expiresAt, assurance }: GrantTerms,
): Illegal | undefined {
  const { vouchedBy } = data as { readonly vouchedBy?: string };
  if (vouchedBy !== undefined) return illegal('grant', 'a person of a front end gives none');
  if (assurance === 'high') return illegal('grant', 'its assurance is the one of a signature');
  const from = createdAt < recordedAt ? createdAt : recordedAt;
  return isBeforeBy(grantLimits.msMax + skewMsMax, from, expiresAt)
    ? illegal('grant', 'it lasts more than 90 days')
    : undefined;
}

function scopeOf(event: JudgedEvent, terms: GrantTerms): GrantState['scope'] {
  const { runId, agentId, requestedBy = null, labels = {}, match, approvalId, toolSchemaHash } = terms;
  const salt = 'digest' in match && !isSealedAt(event, '/match/salt') ? match.salt : null;
  const exactly = 'digest' in match ? { digest: match.digest, salt } : null;
  const isRemembered = approvalId !== null;
  const schema = toolSchemaHash === undefined ? {} : { toolSchemaHash };
  return { runId, agentId, requestedBy, labels, ...schema, isRemembered, exactly, hasCondition: 'when' in match };
}

function confirmed(event: JudgedEvent, grant: GrantState): Next<GrantState> {
  const { confirmedBy, confirmedAt } = event.data as { readonly confirmedBy: string; readonly confirmedAt: string };
  if (grant.status !== 'pending') return illegal('grant', `a grant that is ${grant.status} waits for no person`);
  if (isSameName(confirmedBy, grant.createdBy)) return illegal('four-eyes', `${confirmedBy} confirms their own grant`);
  if (hasCome(grant.expiresAt, confirmedAt)) return illegal('deadline', 'the grant had expired');
  return { ...grant, status: 'active', confirmedBy, givenAt: event.recordedAt };
}

/** Whether a second person confirmed in time, where that was recorded later. */
export function unprovenOfConfirmation(event: JudgedEvent, grant: GrantState | undefined): readonly Unproven[] {
  return event.type === 'GrantConfirmed' && isPastEnd(grant?.expiresAt, event, {}) ? ['past-end'] : [];
}

function used(event: JudgedEvent, grant: GrantState): Next<GrantState> {
  const { callId, runId, nth, usedAt } = event.data as {
    readonly callId: string;
    readonly runId: string;
    readonly nth: number;
    readonly usedAt: string;
  };
  const { status, callIds, runIds, usesMax, expiresAt } = grant;
  if (status !== 'active') return illegal('grant', `a grant that is ${status} covers no call`);
  if (hasCome(expiresAt, usedAt)) return illegal('deadline', 'the grant had expired');
  if (nth !== callIds.length + 1) return illegal('grant', `use ${String(nth)} follows use ${String(callIds.length)}`);
  if (nth > usesMax) return illegal('grant', 'every use of the grant is taken');
  if (callIds.includes(callId)) return illegal('grant', 'the call has a use of the grant already');
  return { ...grant, callIds: [...callIds, callId], runIds: [...runIds, runId] };
}

function revoked({ data, recordedAt }: JudgedEvent, grant: GrantState): Next<GrantState> {
  const { revokedAt: at } = data as { readonly revokedAt: string };
  if (grant.status === 'revoked') return illegal('grant', 'it is revoked already');
  return { ...grant, status: 'revoked', revoked: { at, recordedAt } };
}

interface BatchData {
  readonly callIds: readonly string[];
  readonly requestedBy: string;
  readonly callId: string;
}

/** Judges the one event of a batch. */
export function judgeBatch(event: JudgedEvent, batch: BatchState | undefined, streams: KnownStreams): Next<BatchState> {
  if (event.type !== 'BatchBegun' && event.type !== 'BatchBroken') {
    return illegal('stream', `an event of the type ${event.type} has no place in the stream of a batch`);
  }
  if (batch !== undefined) return illegal('batch', `the batch has ${batch.status} already`);
  const { callIds, requestedBy, callId } = event.data as BatchData;
  const { tenant } = event.metadata;
  if (event.stream !== batchStreamOf({ tenant, requestedBy, callIds })) {
    return illegal('stream', 'its members are not those of its stream');
  }
  if (!callIds.includes(callId)) return illegal('batch', 'the member that decided is none of the batch');
  if (event.type === 'BatchBroken') return { kind: 'batch', status: 'broken' };
  const missing = callIds.find((member) => !isReady(member, event.stream, streams));
  return missing === undefined
    ? { kind: 'batch', status: 'begun' }
    : illegal('batch', `the batch begins, and its member ${missing} may not run`);
}

/** Allowed, approved or answered; also one that was allowed and about which people were asked too late. */
function isReady(callId: string, batchStream: string, streams: KnownStreams): boolean {
  const call = streams.get(`toolCall-${callId}`)?.state;
  if (call?.kind === 'set-aside') return true;
  if (call?.kind !== 'call' || call.request.batchStream !== batchStream) return false;
  return (
    call.permission === 'allowed' ||
    call.permission === 'approved' ||
    (call.permission === 'awaiting' && call.wasAllowed)
  );
}

/** Judges the record of a policy: its version is the hash of its content. */
export function judgePolicy(event: JudgedEvent, policy: PolicyState | undefined): Next<PolicyState> {
  const type = event.stream.startsWith('shadow-policy-') ? 'ShadowPolicyActivated' : 'PolicyActivated';
  const owner = event.stream.slice(event.stream.indexOf('policy-') + 'policy-'.length);
  if (event.type !== type) return illegal('stream', `an event of the type ${event.type} has no place in this stream`);
  if (owner !== event.metadata.tenant) return illegal('stream', 'its tenant is not that of its stream');
  const { policyVersion, content } = event.data as { readonly policyVersion: string; readonly content: unknown };
  if (policyVersion !== digestOf(content)) return illegal('policy', 'its version is not the hash of its content');
  const versions = policy?.versions ?? [];
  return { kind: 'policy', versions: versions.includes(policyVersion) ? versions : [...versions, policyVersion] };
}

/** Judges an event of a stream without rules of its own: what decides something has a place elsewhere. */
export function judgePlain({ type, stream, data, metadata }: JudgedEvent): Next<StreamState> {
  // Attack: a change of rights is recorded in a stream that no reader of the system streams looks at.
  const isOfSystem = (systemEventTypes as readonly string[]).includes(type) || stream.startsWith('system-');
  if (isOfSystem) {
    const { processId } = data as { readonly processId?: string };
    const place = type === 'StopDeclared' || type === 'StopLifted' ? 'stops' : String(processId);
    return stream === `system-${metadata.tenant}-${place}`
      ? { kind: 'plain' }
      : illegal('stream', 'its tenant or its process is not that of its stream');
  }
  const decides =
    isElsewhere({ type, stream, data }) ||
    isCallType(type) ||
    /^(?:Grant|Batch|Policy|ShadowPolicy|Passkey)/.test(type);
  return decides ? illegal('stream', `an event of the type ${type} has no place in this stream`) : { kind: 'plain' };
}

/** Attacks: an erasure, or the end of a run, is recorded where nothing comes of it; an event is where the calls of a run are counted. */
function isElsewhere({ type, stream, data }: Pick<JudgedEvent, 'type' | 'stream' | 'data'>): boolean {
  const { subject } = data as { readonly subject?: string };
  if (type === 'SubjectErased') return stream !== subjectStream(String(subject));
  return (type === 'RunCancelled' && !isRunCancellationStream(stream)) || stream.startsWith(countsPrefix);
}
