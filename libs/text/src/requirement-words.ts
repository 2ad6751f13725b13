import { printable } from './marks.js';

/** The requirement of a policy. */
export interface RequiredPeople {
  readonly stages: readonly {
    readonly mode: 'quorum' | 'all-of';
    readonly approve: number;
    /** Null: every approver. */
    readonly groups: readonly string[] | null;
  }[];
  readonly fourEyes: boolean;
}

/**
 * The requirement in words: `2 approvers of ops, then 1 approver of security; not the requester`. Group names are cut
 * to `nameMax` characters.
 */
export function requirementWords({ stages, fourEyes }: RequiredPeople, nameMax?: number): string {
  const words = stages.map(({ mode, approve, groups }) => {
    const names = groups?.map((group) => printable(group, nameMax)) ?? [];
    if (mode === 'all-of') return `one of each: ${names.join(', ')}`;
    const people = approve === 1 ? '1 approver' : `${approve} approvers`;
    return names.length === 0 ? people : `${people} of ${names.join(' or ')}`;
  });
  return words.join(', then ') + (fourEyes ? '; not the requester' : '');
}
