import { createTokens } from '../tokens.js';
import type { TokenEntry, Tokens } from '../tokens.js';

/** Tokens whose file changes while the gateway runs. */
export interface ChangingTokens extends Tokens {
  readonly replace: (entries: readonly TokenEntry[]) => void;
}

/** Tokens that begin with these entries. */
export function createChangingTokens(entries: readonly TokenEntry[]): ChangingTokens {
  let tokens = createTokens(entries);
  return {
    actorOf: (...of) => tokens.actorOf(...of),
    isInForce: (of) => tokens.isInForce(of),
    actorOfHash: (of) => tokens.actorOfHash(of),
    grants: (...of) => tokens.grants(...of),
    groupsOf: (of) => tokens.groupsOf(of),
    holds: (who, credential) => tokens.holds(who, credential),
    approverIds: (of) => tokens.approverIds(of),
    approverGroups: (of) => tokens.approverGroups(of),
    frontEnds: (of) => tokens.frontEnds(of),
    replace: (next) => void (tokens = createTokens(next)),
  };
}
