import { comparedIdentity } from './compared-identity.js';
import { refuseLookalike } from './names.js';
import { externalIdSchema } from './primitives.js';
import { principalSchema } from './principal.js';

/** What stands between a front end and the id of its person. */
const mark = '#';

/** An address of a provider begins so, and its principals have the same mark. */
const scheme = '://';

/** What a person of a front end is recorded with as channel is its name, so it must not be one of the built-in channels. */
const channels: ReadonlySet<string> = new Set(['inbox', 'api', 'cli', 'mcp']);

/**
 * The principal of a front end. Attack: its people would be those of another front end, or of a sign-in provider, whose
 * principals are `https://id.example.com#1234`.
 */
export const frontEndSchema = principalSchema
  .refine((principal) => !principal.includes(mark) && !principal.includes(scheme), {
    error: `must not contain "${mark}" or "${scheme}": its people are "<principal>${mark}<id>"`,
  })
  .refine((principal) => !channels.has(comparedIdentity(principal)), {
    error: 'is the name of a built-in channel (inbox, api, cli, mcp); choose another',
  });

/** The id of a person, as their front end names them: 1 to 256 characters, in the one form in which it can be written. */
export const personIdSchema = externalIdSchema.superRefine(refuseLookalike);

/** A person for whom a front end vouches. */
export interface PersonOfFrontEnd {
  readonly frontEnd: string;
  readonly id: string;
}

/** The principal of a person of a front end, such as `support-desk#kim`. */
export function principalOfPerson({ frontEnd, id }: PersonOfFrontEnd): string {
  return `${frontEnd}${mark}${id}`;
}

/**
 * Returns the front end and the id in a principal; undefined for one that no front end can vouch for. The name of a front
 * end contains no `#`, so the first one ends it.
 */
export function personOfFrontEnd(principal: string): PersonOfFrontEnd | undefined {
  const at = principal.indexOf(mark);
  const frontEnd = principal.slice(0, Math.max(0, at));
  const id = principal.slice(at + 1);
  return frontEnd === '' || id === '' || frontEnd.includes(scheme) ? undefined : { frontEnd, id };
}
