import { saltedDigest } from '@countersign/contracts';
import type { CreateGrantBody, GrantMatch, GrantTerms, JsonValue, Remember } from '@countersign/contracts';
import { areEqualJson } from '@countersign/domain';

/** Returns whether a recorded grant is the one that is asked for: another one must not be answered with it. */
export function isAsAsked(terms: GrantTerms, body: CreateGrantBody): boolean {
  return areEqualJson(scopeOf(terms), scopeOf(body)) && isSameMatch(terms.match, body.match) && isAsLong(terms, body);
}

/** Whose calls, and of which tool, in one form. */
function scopeOf({ toolName, runId, agentId, requestedBy, labels, reason }: GrantTerms | CreateGrantBody): JsonValue {
  const [run, agent, by] = [runId, agentId, requestedBy].map((name) => name ?? null);
  return [toolName, run ?? null, agent ?? null, by ?? null, labels ?? null, reason];
}

/** The same for the grant of an approval. Its tool and its arguments are those of the approval. */
export function isAsRemembered(terms: GrantTerms, remember: Remember): boolean {
  const { match, scope } = remember;
  return (
    'any' in terms.match === (match === 'tool') &&
    (terms.runId !== null) === (scope === 'run') &&
    isAsLong(terms, remember)
  );
}

function isSameMatch(recorded: GrantMatch, asked: CreateGrantBody['match']): boolean {
  if (!('digest' in recorded) || !('digest' in asked)) return areEqualJson(recorded, asked);
  return recorded.digest === (recorded.salt === null ? asked.digest : saltedDigest(asked.digest, recorded.salt));
}

function isAsLong(
  { createdAt, expiresAt, maxUses }: GrantTerms,
  asked: { readonly expiresInMs: number; readonly maxUses?: number | undefined },
): boolean {
  return Date.parse(expiresAt) - Date.parse(createdAt) === asked.expiresInMs && maxUses === (asked.maxUses ?? null);
}
