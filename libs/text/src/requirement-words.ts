import { printable } from './marks.js';

/** Who must agree, as a policy says it. */
export interface RequiredPeople {
  readonly stages: readonly {
    readonly mode: 'quorum' | 'all-of';
    readonly approve: number;
    /** Null: anybody who may answer. */
    readonly groups: readonly string[] | null;
  }[];
  readonly fourEyes: boolean;
}

/**
 * Who must agree, in words: `2 approvers of ops, then 1 approver of security; not the requester`. Of a group's name at most
 * `nameMax` characters are shown.
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
