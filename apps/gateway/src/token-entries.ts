import { hash } from 'node:crypto';
import {
  assuranceSchema,
  comparedIdentity,
  externalIdSchema,
  frontEndSchema,
  groupSchema,
  personOfFrontEnd,
  plainWords,
  principalSchema,
} from '@countersign/contracts';
import type { Assurance } from '@countersign/contracts';
import { roles } from '@countersign/commands';
import { agentIdsSchema } from '@countersign/shell';
import { z } from 'zod';

/** For whom a front end may speak. */
const peopleSchema = z.strictObject({
  /** The groups that its people may have. */
  groups: z.array(groupSchema).default([]),
  maxAssurance: z
    .enum(['low', 'medium'], 'must be "low" or "medium": only the signature of a passkey gives "high"')
    .default('low'),
});

const tokenEntrySchema = z
  .strictObject({
    /** Sendable in a header as it is. */
    token: z
      .string()
      .regex(/^[\x21-\x7e]{1,4096}$/, 'must be printable ASCII without spaces')
      .optional(),
    tokenSha256: z
      .string()
      .regex(/^[0-9a-fA-F]{64}$/, 'must be 64 hex digits')
      .optional(),
    principal: principalSchema,
    roles: z.array(z.enum(roles)),
    groups: z.array(groupSchema).default([]),
    tenant: externalIdSchema.default('default'),
    agentIds: agentIdsSchema,
    /** The person who is responsible for an agent. */
    owner: principalSchema.optional(),
    /** No response with this token has more assurance, whichever channel the client names. */
    maxAssurance: assuranceSchema.optional(),
    people: peopleSchema.optional(),
  })
  .superRefine((entry, context) => {
    if (entry.owner !== undefined && !entry.roles.includes('agent')) {
      context.addIssue({ code: 'custom', path: ['owner'], message: 'is only for an entry with the role agent' });
    }
    if (entry.maxAssurance !== undefined && !entry.roles.includes('approver')) {
      context.addIssue({
        code: 'custom',
        path: ['maxAssurance'],
        message: 'is only for an entry with the role approver',
      });
    }
    for (const [path, message] of frontEndProblems(entry)) {
      context.addIssue({ code: 'custom', path: [...path], message });
    }
    if ((entry.token === undefined) === (entry.tokenSha256 === undefined)) {
      context.addIssue({ code: 'custom', path: ['token'], message: 'give either token or tokenSha256' });
    }
  });

type Problem = readonly [path: readonly PropertyKey[], message: string];

/** A front end has no rights of its own but to read what its principal requested. */
function frontEndProblems(entry: {
  readonly principal: string;
  readonly roles: readonly string[];
  readonly groups: readonly string[];
  readonly people?: object | undefined;
}): readonly Problem[] {
  if (!entry.roles.includes('front-end')) {
    return entry.people === undefined ? [] : [[['people'], 'is only for an entry with the role front-end']];
  }
  const problems: Problem[] = [];
  const others = entry.roles.filter((role) => role !== 'front-end' && role !== 'agent');
  if (others.length > 0) {
    problems.push([
      ['roles'],
      `front-end can stand with agent alone, and not with ${others.join(', ')}: write a second entry with another token`,
    ]);
  }
  if (entry.people === undefined) {
    problems.push([
      ['people'],
      'say for whom the front end may speak: "people": { "groups": [], "maxAssurance": "low" }',
    ]);
  }
  if (entry.groups.length > 0)
    problems.push([['groups'], 'are those of a person: write people.groups for a front end']);
  const { error } = frontEndSchema.safeParse(entry.principal);
  const unfit = error?.issues.find(({ path }) => path.length === 0)?.message;
  if (unfit !== undefined) problems.push([['principal'], unfit]);
  return problems;
}

/**
 * Attack: an entry has the principal of a person of a front end, or two front ends have names that are compared as one, so
 * that one speaks for the people of the other.
 */
function ambiguousPeople(entries: readonly ParsedEntry[]): readonly Problem[] {
  const keyOf = (tenant: string, frontEnd: string): string => `${tenant}\n${comparedIdentity(frontEnd)}`;
  const frontEnds = new Map<string, string>();
  const problems: Problem[] = [];
  entries.forEach(({ tenant, principal, roles: given }, index) => {
    if (!given.includes('front-end')) return;
    const known = frontEnds.get(keyOf(tenant, principal));
    if (known === undefined) frontEnds.set(keyOf(tenant, principal), principal);
    else if (known !== principal) {
      problems.push([[index, 'principal'], `differs from the front end "${known}" in case alone; choose another name`]);
    }
  });
  entries.forEach(({ tenant, principal }, index) => {
    const person = personOfFrontEnd(principal);
    const frontEnd = person === undefined ? undefined : frontEnds.get(keyOf(tenant, person.frontEnd));
    if (frontEnd === undefined) return;
    problems.push([
      [index, 'principal'],
      `is a person of the front end "${frontEnd}", which alone speaks for them; choose another principal`,
    ]);
  });
  return problems;
}

const tokenEntriesSchema = z.array(tokenEntrySchema).superRefine((entries, context) => {
  for (const [path, message] of ambiguousPeople(entries)) {
    context.addIssue({ code: 'custom', path: [...path], message });
  }
  const seen = new Map<string, number>();
  entries.forEach((entry, index) => {
    const digest = digestOf(entry);
    const first = seen.get(digest);
    if (first === undefined) seen.set(digest, index);
    else context.addIssue({ code: 'custom', path: [index, 'token'], message: `repeats the token of entry ${first}` });
  });
});

/** One entry of a tokens file, as a person writes it. */
export type TokenEntry = z.input<typeof tokenEntrySchema>;

/** An entry that was checked, with its defaults. */
export type ParsedEntry = z.output<typeof tokenEntrySchema>;

/** Returns the problems of a tokens file, with index and path, never with a token. */
export class TokensError extends Error {
  override readonly name = 'TokensError';
  readonly problems: readonly { readonly path: string; readonly problem: string }[];

  constructor(source: string, problems: TokensError['problems']) {
    super(
      `${source}:\n${problems.map(({ path, problem }) => `  ${path === '' ? 'the file' : path}: ${problem}`).join('\n')}`,
    );
    this.problems = problems;
  }
}

/** Checks the entries of a tokens file. @throws TokensError with all problems at once. */
export function parseTokenEntries(entries: unknown, source: string): readonly ParsedEntry[] {
  const parsed = tokenEntriesSchema.safeParse(entries, { error: plainWords });
  if (parsed.success) return parsed.data;
  const problems = parsed.error.issues.map(({ path, message }) => ({
    path: path.map(String).join('.'),
    problem: message,
  }));
  throw new TokensError(source, problems);
}

/** Lower-case hex, as the look-up makes it. */
export function digestOf(entry: Pick<ParsedEntry, 'token' | 'tokenSha256'>): string {
  return entry.token === undefined ? (entry.tokenSha256 ?? '').toLowerCase() : hash('sha256', entry.token);
}

/** Ordered from the weakest. */
const levels = assuranceSchema.options;

/** The weaker of two. */
export function lower(one: Assurance, other: Assurance): Assurance {
  return levels.indexOf(one) <= levels.indexOf(other) ? one : other;
}
