import type { Actor } from '../actor.js';
import type { KnownApprover } from '../ports.js';

/** The groups of a person without repeats; of a person of a front end only those that it may give. */
export function boundedGroups(groups: Iterable<string>, within: KnownApprover['within']): readonly string[] {
  const all = [...new Set(groups)];
  return within === undefined ? all : all.filter((group) => within.includes(group));
}

/**
 * The groups of a person that only files give, for a person of a provider or a front end: what those give is not known later, and
 * files are read again.
 *
 * Attack: a file takes a group away from a person of a front end, and their vote keeps it.
 *
 * @param given what the request itself gives
 */
export function groupsOfFiles(
  known: KnownApprover | undefined,
  all: readonly string[],
  given: readonly string[] = [],
): { readonly groupsOfFiles?: readonly string[] } {
  if (known?.signedIn === undefined) return {};
  const proven = [...known.signedIn, ...given];
  const written = all.filter((group) => !proven.includes(group));
  return written.length === 0 ? {} : { groupsOfFiles: written };
}

/** The groups that a request gives by itself: those of the front end or of the provider's token. The others are read in files. */
export function groupsOfRequest({ credential, vouchedBy, groups }: Actor): readonly string[] {
  const isProven = vouchedBy !== undefined || credential === undefined || credential.startsWith('oidc:');
  return isProven ? groups : [];
}
