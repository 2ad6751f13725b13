import { hash } from 'node:crypto';
import { assuranceSchema, externalIdSchema, groupSchema, plainWords, principalSchema } from '@countersign/contracts';
import type { Assurance } from '@countersign/contracts';
import { roles } from '@countersign/commands';
import { agentIdsSchema } from '@countersign/shell';
import { z } from 'zod';

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
    if ((entry.token === undefined) === (entry.tokenSha256 === undefined)) {
      context.addIssue({ code: 'custom', path: ['token'], message: 'give either token or tokenSha256' });
    }
  });

const tokenEntriesSchema = z.array(tokenEntrySchema).superRefine((entries, context) => {
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
