import { randomBytes } from 'node:crypto';
import { existsSync, linkSync, mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';
import { readSettings } from '@countersign/runtime';
import type { Log } from '@countersign/runtime';
import { watchForChanges } from '@countersign/shell';
import { TokensError, createTokens } from './tokens.js';
import type { TokenEntry, Tokens } from './tokens.js';

/** The tokens of a first start: an agent, the person at the machine, and a worker. */
const firstGrants = [
  // All agents of a first trial, so that another agent name needs no change of this file.
  { principal: 'agent', roles: ['agent'], agentIds: ['*'] },
  { principal: 'me', roles: ['approver', 'auditor', 'admin'], agentIds: [] },
  { principal: 'worker', roles: ['resolver'], agentIds: [] },
] as const;

/** An entry with its clear token, to print it once. */
export type NewTokenEntry = TokenEntry & { readonly token: string };

/**
 * Writes a tokens file with three random tokens, `agent`, `me` and `worker`, readable by its owner alone. An existing
 * file is not changed.
 * @returns the created entries, or undefined when the file existed.
 */
export function createTokensFile(path: string): readonly NewTokenEntry[] | undefined {
  if (existsSync(path)) return undefined;
  const entries = firstGrants.map(({ principal, roles, agentIds }) => ({
    token: `cs_${randomBytes(32).toString('base64url')}`,
    principal,
    roles: [...roles],
    groups: [],
    tenant: 'default',
    ...(agentIds.length > 0 && { agentIds: [...agentIds] }),
  }));
  mkdirSync(dirname(path), { recursive: true });
  const draft = `${path}.${String(process.pid)}.new`;
  writeFileSync(draft, `${JSON.stringify(entries, null, 2)}\n`, { mode: 0o600, flush: true });
  try {
    // A link instead of a rename: of two first starts at once only one creates the file, and no reader sees half of it.
    linkSync(draft, path);
    return entries;
  } catch (error) {
    if (error instanceof Error && 'code' in error && error.code === 'EEXIST') return undefined;
    throw error;
  } finally {
    rmSync(draft, { force: true });
  }
}

/** Tokens out of a file, which may change while the process runs. */
export interface FileTokens extends Tokens {
  /** Reads the file again; a file that is not valid changes nothing and is logged. */
  readonly reload: () => void;
  /** Stops watching the file. */
  readonly close: () => void;
}

/**
 * The tokens of a file; a change of the file is noticed within two seconds.
 * @throws TokensError when the file cannot be used at the start.
 */
export function createFileTokens(path: string, log: Log): FileTokens {
  const read = (): Tokens =>
    readTokens(path, () => log.warn({ path }, 'the tokens file has no entries: sign-in with a token is impossible'));
  let tokens = read();
  const listeners = new Set<() => void>();
  const reload = (): void => {
    try {
      tokens = read();
      log.info({ path }, 'tokens reloaded');
    } catch (error) {
      log.error({ path, error }, 'the tokens file is invalid; the previous tokens stay in force');
      return;
    }
    for (const listener of listeners) listener();
  };
  const close = watchForChanges(path, reload);
  return {
    actorOf: (token, via) => tokens.actorOf(token, via),
    actorOfHash: (tokenSha256) => tokens.actorOfHash(tokenSha256),
    grants: (who, role) => tokens.grants(who, role),
    groupsOf: (who) => tokens.groupsOf(who),
    approverIds: (tenant) => tokens.approverIds(tenant),
    approverGroups: (tenant) => tokens.approverGroups(tenant),
    onChange: (listener) => {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    reload,
    close,
  };
}

/**
 * Reads a tokens file once.
 * @param onEmpty is called when it has no entries.
 * @throws TokensError with all problems at once.
 */
export function readTokens(path: string, onEmpty: () => void = () => undefined): Tokens {
  const text = readSettings(path, 'COUNTERSIGN_TOKENS_FILE', (problem) => new TokensError(path, [problem]));
  let entries: unknown;
  try {
    entries = JSON.parse(text);
  } catch {
    // The parser quotes the text around the fault, which may be a token.
    throw new TokensError(path, [
      {
        path: '',
        problem: 'is not valid JSON: it must be a list of entries, as `countersign tokens create FILE` writes it',
      },
    ]);
  }
  if (Array.isArray(entries) && entries.length === 0) onEmpty();
  return createTokens(entries, path);
}
