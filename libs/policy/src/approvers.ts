import {
  comparedIdentity,
  groupSchema,
  identityKinds,
  identitySchemas,
  personPrincipalSchema,
  principalSchema,
} from '@countersign/contracts';
import type { Identities } from '@countersign/contracts';
import { z } from 'zod';

const delegatesMax = 32;
const frontEndsMax = 32;

const timeSchema = z.iso
  .datetime({ offset: true, error: 'must be an RFC 3339 time in quotes, such as "2026-12-01T00:00:00Z"' })
  .transform((text) => Date.parse(text));

const delegateSchema = z
  .strictObject({ to: principalSchema, from: timeSchema, until: timeSchema })
  .superRefine(({ from, until }, context) => {
    if (until <= from) context.addIssue({ code: 'custom', path: ['until'], message: 'must be after `from`' });
  });

const approverSchema = z.strictObject({
  id: principalSchema,
  groups: z.array(groupSchema).default([]),
  identities: z
    .strictObject({ ...identitySchemas, frontEnds: z.array(personPrincipalSchema).min(1).max(frontEndsMax).optional() })
    .default({}),
  delegates: z.array(delegateSchema).max(delegatesMax).default([]),
});

/** A person of the policy file: what they may decide, who they are in the channels, and who responds in their place. */
export type Approver = z.output<typeof approverSchema>;

/** The people of a policy file. */
export const approversSchema = z.array(approverSchema).superRefine((approvers, context) => {
  const ids = new Set(approvers.map(({ id }) => id));
  const idOf = new Map<string, string>();
  approvers.forEach((approver, index) => {
    const refuse = (path: readonly PropertyKey[], message: string): void =>
      context.addIssue({ code: 'custom', path: [index, ...path], message });
    for (const [path, key, text] of namesOf(approver)) {
      const owner = idOf.get(key);
      if (owner === undefined) idOf.set(key, approver.id);
      else refuse(path, path[0] === 'id' ? `"${text}" is listed twice` : `is that of "${owner}" too`);
    }
    approver.delegates.forEach(({ to }, at) => {
      if (to === approver.id) refuse(['delegates', at, 'to'], 'must be another person');
      else if (!ids.has(to)) refuse(['delegates', at, 'to'], `there is no approver "${to}" in this file`);
    });
  });
});

/** The names that only one person may have: where each is written, the form in which it is compared, and its text. */
function namesOf({ id, identities }: Approver): readonly (readonly [readonly string[], string, string])[] {
  const written = identityKinds.flatMap((kind) => {
    const text = identities[kind];
    return text === undefined ? [] : [[['identities', kind], `${kind} ${comparedIdentity(text)}`, text] as const];
  });
  const people = (identities.frontEnds ?? []).map(
    (text, index) => [['identities', 'frontEnds', String(index)], `id ${comparedIdentity(text)}`, text] as const,
  );
  // Votes are counted by the full case folding of names, so two names that differ in case alone are one person.
  return [[['id'], `id ${comparedIdentity(id)}`, id], ...written, ...people];
}

/** The people who have delegated their responses to this person at a time, epoch milliseconds. Delegations do not chain. */
export function delegatorsAt(approvers: readonly Approver[], principal: string, atMs: number): readonly Approver[] {
  return approvers.filter(({ delegates }) =>
    delegates.some(({ to, from, until }) => to === principal && from <= atMs && atMs < until),
  );
}

/** A person of the channels file. */
export interface ChannelPerson extends Identities {
  readonly id: string;
}

/** A contradiction between the policy file and the channels file, with its path in the policy file. */
export interface Disagreement {
  readonly path: readonly PropertyKey[];
  readonly message: string;
}

/** Finds the identities on which the two files disagree: one of two people, or two of one person. */
export function disagreements(
  approvers: readonly Approver[],
  people: readonly ChannelPerson[],
): readonly Disagreement[] {
  return approvers.flatMap(({ id, identities }, index) =>
    identityKinds.flatMap((kind) => {
      const here = identities[kind];
      if (here === undefined) return [];
      const path = ['approvers', index, 'identities', kind];
      const other = people.find((one) => one.id !== id && isSame(one[kind], here));
      if (other !== undefined) return [{ path, message: `is that of "${other.id}" in the channels file` }];
      const there = people.find((one) => one.id === id)?.[kind];
      return there === undefined || isSame(there, here)
        ? []
        : [{ path, message: `is another than in the channels file, where "${id}" has "${there}"` }];
    }),
  );
}

function isSame(one: string | undefined, other: string): boolean {
  return one !== undefined && comparedIdentity(one) === comparedIdentity(other);
}
