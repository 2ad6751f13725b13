import { canonicalJson, placeLabelsOf } from '@countersign/contracts';
import type { RequestFacts } from './call-state.js';
import { digestOf } from './digests.js';
import { illegal } from './judged-event.js';
import type { Illegal, Unproven } from './judged-event.js';
import type { GrantState, KnownStreams } from './streams.js';
import { isBeforeBy, skewMsMax } from './times.js';

/**
 * Why a grant does not cover a call: it has no use for it, its terms are about others, or it had ended. One that was not judged may
 * cover it. Attack: uses are taken in stock, for calls that come after its revocation.
 */
export function notCovered(grantId: string, request: RequestFacts, streams: KnownStreams): Illegal | undefined {
  const grant = streams.get(`grant-${grantId}`)?.state;
  if (grant?.kind === 'set-aside') return undefined;
  if (grant?.kind !== 'grant' || !grant.callIds.includes(request.callId) || !isAbout(grant, request)) {
    return illegal('grant', `the grant ${grantId} has no use for this call, or is about others`);
  }
  return misusedFor(grantId, grant, request);
}

function misusedFor(grantId: string, grant: GrantState, request: RequestFacts): Illegal | undefined {
  if (grant.runIds[grant.callIds.indexOf(request.callId)] !== request.runId) {
    return illegal('grant', `the use of ${grantId} names another run than that of the call`);
  }
  // Attack: a call that waits, or has ended, gets a grant of its own.
  if (isBeforeBy(skewMsMax, request.recordedAt, grant.givenAt)) {
    return illegal('grant', `the grant ${grantId} was given after this call was requested`);
  }
  const over = endsOf(grant).find(({ at }) => isBeforeBy(skewMsMax, at, request.requestedAt));
  return over === undefined
    ? undefined
    : illegal('grant', `the grant ${grantId} ended at ${over.at}, before this call was requested`);
}

/** When a grant ends, by what is said and by the record. */
function endsOf({ expiresAt, revoked }: GrantState): readonly { readonly at: string; readonly recordedAt: string }[] {
  return [{ at: expiresAt, recordedAt: expiresAt }, ...(revoked === null ? [] : [revoked])];
}

function isAbout({ toolName, scope }: GrantState, request: RequestFacts): boolean {
  const { runId, agentId, requestedBy, labels, isRemembered, toolSchemaHash = request.toolSchemaHash } = scope;
  if (toolName !== request.toolName || !isOrAny(runId, request.runId)) return false;
  if (!isOrAny(agentId, request.agentId) || !isOrAny(requestedBy, request.requestedBy)) return false;
  const isLabelled = Object.entries(labels).every(
    ([name, value]) => Object.hasOwn(request.labels, name) && request.labels[name] === value,
  );
  const isThere = !isRemembered || placeOf(labels) === placeOf(request.labels);
  return isLabelled && isThere && toolSchemaHash === request.toolSchemaHash && isOfArguments(scope, request);
}

/** To what the arguments are relative, as text. */
function placeOf(labels: Readonly<Record<string, string>>): string {
  return canonicalJson(placeLabelsOf(labels));
}

function isOrAny(named: string | null, found: string): boolean {
  return named === null || named === found;
}

/** Whether a hidden value has the digest of the grant cannot be said, and is not held against it. */
function isOfArguments({ exactly }: GrantState['scope'], { argumentsDigest }: RequestFacts): boolean {
  if (exactly === null || exactly.salt === null || argumentsDigest === null) return true;
  return exactly.digest === digestOf([argumentsDigest, exactly.salt]);
}

/** What the judge cannot say about a call that a grant covers. */
export function unprovenOfGrant(
  grantId: string,
  { argumentsDigest, recordedAt }: RequestFacts,
  streams: KnownStreams,
): readonly Unproven[] {
  const grant = streams.get(`grant-${grantId}`)?.state;
  if (grant?.kind !== 'grant') return [];
  const { exactly, hasCondition } = grant.scope;
  const isSealed = exactly !== null && (exactly.salt === null || argumentsDigest === null);
  const isPast = endsOf(grant).some((end) => isBeforeBy(skewMsMax, end.recordedAt, recordedAt));
  return [
    ...(hasCondition ? (['grant-condition'] as const) : []),
    ...(isSealed ? (['sealed-values'] as const) : []),
    ...(isPast ? (['past-end'] as const) : []),
  ];
}
