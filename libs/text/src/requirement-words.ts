import { printable } from './marks.js';

/** One stage of a requirement. */
export interface RequiredStage {
  readonly mode: 'quorum' | 'all-of';
  readonly approve: number;
  /** Null: every approver. */
  readonly groups: readonly string[] | null;
}

/** The requirement of a policy. */
export interface RequiredPeople {
  readonly stages: readonly RequiredStage[];
  readonly fourEyes: boolean;
}

/** Returns whether only answers that are signed with a passkey count. They are given in the inbox. */
export function needsSignature(requirement: {
  readonly requireSignature?: boolean | undefined;
  readonly minAssurance: string | null;
}): boolean {
  return requirement.requireSignature === true || requirement.minAssurance === 'high';
}

/** What a denial does to the other calls of the run, after the words `A denial`; empty where it does nothing to them. */
export function denialWords(requirement: { readonly denyEndsRun?: true | undefined }): string {
  return requirement.denyEndsRun === true ? 'ends the run: its other open calls are cancelled' : '';
}

/** One stage in words: `2 approvers of ops`, `one of each: ops, security`. */
export function stageWords({ mode, approve, groups }: RequiredStage, nameMax?: number): string {
  const names = groups?.map((group) => printable(group, nameMax)) ?? [];
  if (mode === 'all-of' && names.length > 0) return `one of each: ${names.join(', ')}`;
  const people = approve === 1 ? '1 approver' : `${approve} approvers`;
  return names.length === 0 ? people : `${people} of ${names.join(' or ')}`;
}

/**
 * The requirement in words: `2 approvers of ops, then 1 approver of security; not the requester`. Group names are cut
 * to `nameMax` characters.
 */
export function requirementWords({ stages, fourEyes }: RequiredPeople, nameMax?: number): string {
  const words = stages.map((stage) => stageWords(stage, nameMax));
  return words.join(', then ') + (fourEyes ? '; not the requester' : '');
}
