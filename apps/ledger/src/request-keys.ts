import { externalIdSchema, plainWords, principalSchema } from '@countersign/contracts';
import { readFileOf } from '@countersign/runtime';
import type { Log } from '@countersign/runtime';
import { agentIdsSchema, watchForChanges } from '@countersign/shell';
import { importJWK } from 'jose';
import type { CryptoKey, JWK } from 'jose';
import { z } from 'zod';

const base64url = z.string().regex(/^[A-Za-z0-9_-]{43}$/, 'must be 32 bytes in base64url');

/** Public keys alone: a file with a private key in it (`d`) is refused, it does not belong on a server. */
const publicJwkSchema = z.discriminatedUnion('kty', [
  z.strictObject({ kty: z.literal('OKP'), crv: z.literal('Ed25519'), x: base64url, ...optionalMembers() }),
  z.strictObject({ kty: z.literal('EC'), crv: z.literal('P-256'), x: base64url, y: base64url, ...optionalMembers() }),
]);

function optionalMembers() {
  return { kid: z.string().optional(), use: z.literal('sig').optional(), alg: z.string().optional() };
}

const keyEntrySchema = z.strictObject({
  kid: externalIdSchema,
  publicKey: publicJwkSchema,
  tenant: externalIdSchema.default('default'),
  principal: principalSchema,
  agentIds: agentIdsSchema,
  /** The person who is responsible for the agent. */
  owner: principalSchema.optional(),
});

const keyEntriesSchema = z.array(keyEntrySchema).superRefine((entries, context) => {
  const seen = new Set<string>();
  entries.forEach(({ kid }, index) => {
    if (seen.has(kid)) context.addIssue({ code: 'custom', path: [index, 'kid'], message: 'is used twice' });
    seen.add(kid);
  });
});

/** One entry of a keys file, as a person writes it. */
export type RequestKeyEntry = z.input<typeof keyEntrySchema>;

/** A key and whom it speaks for. */
export interface RequestKey {
  readonly kid: string;
  readonly key: CryptoKey | Uint8Array;
  /** The only algorithm that this key is used with. */
  readonly alg: 'EdDSA' | 'ES256';
  readonly tenant: string;
  readonly principal: string;
  /** Globs of the agents that it may request for, in addition to its own principal. */
  readonly agentIds: readonly string[];
  /** The person who is responsible for the agent. */
  readonly owner: string | undefined;
}

/** The keys that requests may be signed with. */
export interface RequestKeys {
  readonly find: (kid: string) => RequestKey | undefined;
}

/** Keys out of a file, which may change while the process runs. */
export interface FileRequestKeys extends RequestKeys {
  /** Reads the file again; a file that is not valid changes nothing and is logged. */
  readonly reload: () => Promise<void>;
  readonly close: () => void;
}

/** Returns the problems of a keys file, each with its path. */
export class RequestKeysError extends Error {
  override readonly name = 'RequestKeysError';
  readonly problems: readonly { readonly path: string; readonly problem: string }[];

  constructor(source: string, problems: RequestKeysError['problems']) {
    super(`${source}:\n${problems.map(({ path, problem }) => `  ${path || 'the file'}: ${problem}`).join('\n')}`);
    this.problems = problems;
  }
}

/**
 * Builds the keys from a list of entries.
 * @throws RequestKeysError with all problems at once.
 */
export async function createRequestKeys(entries: unknown, source = 'the request keys'): Promise<RequestKeys> {
  const parsed = keyEntriesSchema.safeParse(entries, { error: plainWords });
  if (!parsed.success) {
    throw new RequestKeysError(
      source,
      parsed.error.issues.map(({ path, message }) => ({ path: path.map(String).join('.'), problem: message })),
    );
  }
  const keys = new Map<string, RequestKey>();
  for (const [index, entry] of parsed.data.entries()) keys.set(entry.kid, await toKey(entry, index, source));
  return { find: (kid) => keys.get(kid) };
}

async function toKey(entry: z.output<typeof keyEntrySchema>, index: number, source: string): Promise<RequestKey> {
  const { kid, publicKey, tenant, principal, agentIds, owner } = entry;
  const alg = publicKey.kty === 'OKP' ? 'EdDSA' : 'ES256';
  try {
    const key = await importJWK({ ...publicKey, alg } as JWK, alg);
    return { kid, key, alg, tenant, principal, agentIds, owner };
  } catch {
    throw new RequestKeysError(source, [{ path: `${index}.publicKey`, problem: `is no ${publicKey.crv} key` }]);
  }
}

/**
 * The keys of a file. A change of the file takes effect within two seconds, so that a key can be revoked quickly.
 * @throws ConfigError when the file cannot be read at the start; RequestKeysError when it cannot be used.
 */
export async function loadRequestKeys(path: string, log: Log): Promise<FileRequestKeys> {
  let keys = await readKeysFile(path);
  let reads = 0;
  const reload = async (): Promise<void> => {
    reads += 1;
    const mine = reads;
    try {
      const read = await readKeysFile(path);
      // A long list takes long: one that was read before must not bring back a key that is revoked by now.
      if (mine !== reads) return;
      keys = read;
      log.info({ path }, 'request keys reloaded');
    } catch (error) {
      log.error({ path, error }, 'the request keys file is invalid; the previous keys stay in force');
    }
  };
  const close = watchForChanges(path, () => void reload());
  return { find: (kid) => keys.find(kid), reload, close };
}

async function readKeysFile(path: string): Promise<RequestKeys> {
  const text = readFileOf('COUNTERSIGN_REQUESTS_KEYS', path);
  let entries: unknown;
  try {
    entries = JSON.parse(text);
  } catch {
    throw new RequestKeysError(path, [{ path: '', problem: 'is not valid JSON: it must be a list of keys' }]);
  }
  return createRequestKeys(entries, path);
}
