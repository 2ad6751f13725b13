import { z } from 'zod';
import { personOfFrontEnd } from './front-end.js';
import { refuseLookalike } from './names.js';

/** The names of a person in the channels, as the channels file and the policy file write them. */
export const identitySchemas = {
  slack: z
    .string()
    .regex(/^[A-Z0-9]+:[A-Z0-9]+$/, 'must be workspace and user id, such as "T01:U01"')
    .optional(),
  telegram: z
    .string()
    .regex(/^\d{1,20}$/, 'must be the numeric id of a user, in quotes')
    .optional(),
  teams: z
    .string()
    .regex(
      /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}:[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/,
      'must be the tenant and the object id of a user in Microsoft Entra, two GUIDs in lower case with ":" between',
    )
    .optional(),
  email: z
    .string()
    .regex(/^[^\s<>@,;:"]+@[^\s<>@,;:"]+$/, 'must be an e-mail address')
    .max(254)
    .optional(),
} as const;

/** A person of a front end, as the policy file writes them: the principal of the front end, `#` and the id. */
export const personPrincipalSchema = z
  .string()
  .superRefine(refuseLookalike)
  .refine((principal) => personOfFrontEnd(principal) !== undefined, {
    error: 'must be a person of a front end: its principal, "#" and the id, such as "support-desk#kim"',
  });

export const identityKinds = ['slack', 'telegram', 'teams', 'email'] as const;

/** The identities of one person. */
export type Identities = OfChannels & {
  /** The person in front ends, such as `support-desk#kim`. */
  readonly frontEnds?: readonly string[] | undefined;
};

type OfChannels = { readonly [Kind in (typeof identityKinds)[number]]?: string | undefined };

/** What may stand before an identity: its kind, and the channel as a credential names it. */
const prefixes = { slack: ['slack'], telegram: ['telegram'], teams: ['teams'], email: ['email', 'mail'] } as const;

/** The names that the identities give a person, in the order of their kinds: `T01:U01` and `slack:T01:U01`. */
export function identitiesIn(identities: Identities): readonly string[] {
  const ofChannels = identityKinds.flatMap((kind) => {
    const identity = identities[kind];
    return identity === undefined ? [] : [identity, ...prefixes[kind].map((prefix) => `${prefix}:${identity}`)];
  });
  return [...ofChannels, ...(identities.frontEnds ?? [])];
}
