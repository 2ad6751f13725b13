import { canonicalJson, placeLabelsOf } from '@countersign/contracts';
import type { RequestFacts } from './call-state.js';
import { digestOf } from './digests.js';
import type { Unproven } from './judged-event.js';
import type { GrantState, KnownStreams } from './streams.js';

/** Returns whether a grant has a use for the call, and its terms are about such a call. One that was not judged may have. */
export function coversCall(grantId: string, request: RequestFacts, streams: KnownStreams): boolean {
  const grant = streams.get(`grant-${grantId}`)?.state;
  if (grant?.kind === 'set-aside') return true;
  return grant?.kind === 'grant' && grant.callIds.includes(request.callId) && isAbout(grant, request);
}

function isAbout({ toolName, scope }: GrantState, request: RequestFacts): boolean {
  const { runId, agentId, requestedBy, labels, isRemembered } = scope;
  if (toolName !== request.toolName || !isOrAny(runId, request.runId)) return false;
  if (!isOrAny(agentId, request.agentId) || !isOrAny(requestedBy, request.requestedBy)) return false;
  const isLabelled = Object.entries(labels).every(
    ([name, value]) => Object.hasOwn(request.labels, name) && request.labels[name] === value,
  );
  const isThere = !isRemembered || placeOf(labels) === placeOf(request.labels);
  return isLabelled && isThere && isOfArguments(scope, request);
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
  { argumentsDigest }: RequestFacts,
  streams: KnownStreams,
): readonly Unproven[] {
  const grant = streams.get(`grant-${grantId}`)?.state;
  if (grant?.kind !== 'grant') return [];
  const { exactly, hasCondition } = grant.scope;
  if (hasCondition) return ['grant-condition'];
  return exactly !== null && (exactly.salt === null || argumentsDigest === null) ? ['sealed-values'] : [];
}
