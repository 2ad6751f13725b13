import { lookalikeProblem, personIdSchema, principalOfPerson } from '@countersign/contracts';
import type { Assurance } from '@countersign/contracts';
import type { Actor, PeopleOfFrontEnd } from '@countersign/commands';
import { ProblemError } from '@countersign/shell';
import type { FastifyRequest } from 'fastify';
import { lower } from '../token-entries.js';
import { invalidRequest } from '../validation.js';

/** The headers in which a front end names the person of a request. */
export const personHeaders = {
  id: 'Countersign-Person',
  groups: 'Countersign-Person-Groups',
  name: 'Countersign-Person-Name',
  assurance: 'Countersign-Person-Assurance',
} as const;

type PersonHeader = (typeof personHeaders)[keyof typeof personHeaders];

/** Each name as it is documented, and as Node has it. */
const all = Object.values(personHeaders).map((name) => ({ name, lower: name.toLowerCase() }));

/**
 * Returns the person whom a front end names in the headers, and the sender itself where there are none.
 *
 * Attack: a token without the role names a person. It is refused, not ignored: its sender believes to speak for that person.
 * @throws ProblemError `forbidden` for a token that may not speak for this person; `invalid-request` for a header that cannot
 *   be read in one way only.
 */
export function personOf(request: FastifyRequest, actor: Actor): Actor {
  const { headers } = request;
  if (!all.some((header) => headers[header.lower] !== undefined)) return actor;
  const sent = all.filter((header) => headers[header.lower] !== undefined).map(({ name }) => name);
  const { people, principal: frontEnd, via: _channel, ...rest } = actor;
  if (people === undefined) {
    throw new ProblemError(
      'forbidden',
      `${sent.join(', ')}: only a token with the role front-end speaks for people. Leave the header out, or send the token of the front end.`,
    );
  }
  for (const name of sent) refuseRepeated(request, name);
  const id = idOf(valueOf(request, personHeaders.id));
  const name = nameOf(valueOf(request, personHeaders.name));
  return {
    ...rest,
    principal: principalOfPerson({ frontEnd, id }),
    via: frontEnd,
    vouchedBy: frontEnd,
    ...(name !== undefined && { name }),
    roles: new Set(['approver']),
    groups: groupsOf(valueOf(request, personHeaders.groups), frontEnd, people),
    groupsWithin: people.groups,
    agentIds: [],
    assurance: assuranceOf(valueOf(request, personHeaders.assurance), frontEnd, people),
  };
}

function valueOf({ headers }: FastifyRequest, name: PersonHeader): string | undefined {
  const value = headers[name.toLowerCase()];
  return typeof value === 'string' ? value : undefined;
}

/** Attack: two lines of one header, of which a proxy checks the first and the server believes the other. */
function refuseRepeated({ raw }: FastifyRequest, name: PersonHeader): void {
  const lines = raw.rawHeaders.filter((text, index) => index % 2 === 0 && text.toLowerCase() === name.toLowerCase());
  if (lines.length > 1) throw invalid(name, 'must be sent once');
}

function idOf(value: string | undefined): string {
  if (value === undefined) throw invalid(personHeaders.id, 'must be sent with the other headers of a person');
  const parsed = personIdSchema.safeParse(decoded(personHeaders.id, value));
  if (parsed.success) return parsed.data;
  const words = parsed.error.issues.map(({ code, message }) =>
    code === 'too_small' || code === 'too_big' ? 'must have 1 to 256 characters' : message,
  );
  throw invalid(personHeaders.id, words.join('; '));
}

function groupsOf(value: string | undefined, frontEnd: string, { groups }: PeopleOfFrontEnd): readonly string[] {
  if (value === undefined || value.trim() === '') return [];
  const wanted = value.split(',').map((text) => decoded(personHeaders.groups, text.trim()));
  const foreign = wanted.find((group) => !groups.includes(group));
  if (foreign === undefined) return [...new Set(wanted)];
  throw new ProblemError(
    'forbidden',
    `${personHeaders.groups}: the token of ${JSON.stringify(frontEnd)} does not list the group ${JSON.stringify(foreign)} in people.groups`,
  );
}

function assuranceOf(value: string | undefined, frontEnd: string, { maxAssurance }: PeopleOfFrontEnd): Assurance {
  const wanted = value ?? 'low';
  if (wanted !== 'low' && wanted !== 'medium' && wanted !== 'high')
    throw invalid(personHeaders.assurance, 'must be low or medium');
  if (lower(wanted, maxAssurance) === wanted) return wanted;
  throw new ProblemError(
    'forbidden',
    `${personHeaders.assurance}: the token of ${JSON.stringify(frontEnd)} allows at most ${maxAssurance} (people.maxAssurance)`,
  );
}

const nameCharsMax = 256;

/** Attack: marks of direction in a name turn the words around it. */
function nameOf(value: string | undefined): string | undefined {
  if (value === undefined) return undefined;
  const name = decoded(personHeaders.name, value).normalize('NFKC');
  const problem = /\p{Cc}|[\u2028\u2029]/u.test(name) ? 'must not contain control characters' : lookalikeProblem(name);
  if (problem !== undefined) throw invalid(personHeaders.name, problem);
  if (name === '' || name.length > nameCharsMax)
    throw invalid(personHeaders.name, `must have 1 to ${String(nameCharsMax)} characters`);
  return name;
}

/** A comma would separate two lines of the header, and a blank or a letter outside of ASCII is read in several ways. */
const encoded = /^(?:[!#$&-+\-./0-9:-~]|%[0-9A-Fa-f]{2})*$/;

function decoded(name: PersonHeader, value: string): string {
  try {
    if (encoded.test(value)) return decodeURIComponent(value);
  } catch {
    // Bytes that are no UTF-8.
  }
  throw invalid(name, 'must be percent-encoded UTF-8, as encodeURIComponent writes it');
}

function invalid(name: PersonHeader, message: string): ProblemError {
  return invalidRequest([{ path: name, message }]);
}
