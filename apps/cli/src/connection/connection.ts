import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { localError, usageError } from '../cli-error.js';

/** The server's address and the caller's token. */
export interface Connection {
  readonly url: string;
  /** Undefined: nothing is sent, which only the health endpoints accept. */
  readonly token: string | undefined;
  /** The source of the token, for error messages. */
  readonly tokenSource: string;
}

/** The options that name a connection. The environment gives the absent ones. */
export interface ConnectionOptions {
  readonly url?: string | undefined;
  readonly token?: string | undefined;
}

type Env = Readonly<Record<string, string | undefined>>;

/**
 * Returns the connection that options and environment name. Without a token, and only when the server is on this
 * machine, it reads the token of `me` from the tokens file that standalone created.
 */
export function findConnection(options: ConnectionOptions, env: Env): Connection {
  const url = checkedUrl(options.url ?? nonEmpty(env['COUNTERSIGN_URL']) ?? localUrl(env));
  const given = options.token ?? nonEmpty(env['COUNTERSIGN_TOKEN']);
  if (given !== undefined) {
    const source = options.token === undefined ? 'COUNTERSIGN_TOKEN' : '--token';
    return { url: url.href.replace(/\/$/, ''), token: checkedToken(given.trim(), source), tokenSource: source };
  }
  const file = tokensFileOf(env);
  const token = isLocal(url) ? tokenOf('me', file) : undefined;
  return { url: url.href.replace(/\/$/, ''), token, tokenSource: token === undefined ? 'nowhere' : file };
}

/** The server's address, and the tokens of those who ask for calls and execute them. */
export interface WorkerConnection {
  readonly url: string;
  readonly token: string;
  readonly resolverToken: string;
  /** Where people open the inbox. */
  readonly inboxUrl: string;
}

/**
 * Returns the connection of a command that asks for calls and executes them. Without a token, and only when the server is
 * on this machine, it reads those of `agent` and `worker` from the tokens file that standalone created.
 */
export function findWorkerConnection(options: ConnectionOptions, env: Env): WorkerConnection {
  const url = checkedUrl(options.url ?? nonEmpty(env['COUNTERSIGN_URL']) ?? localUrl(env));
  const base = url.href.replace(/\/$/, '');
  const given = options.token ?? nonEmpty(env['COUNTERSIGN_TOKEN']);
  const resolver = nonEmpty(env['COUNTERSIGN_RESOLVER_TOKEN']);
  const local = (principal: string): string | undefined =>
    isLocal(url) ? tokenOf(principal, tokensFileOf(env)) : undefined;
  const token = given ?? local('agent');
  const resolverToken = resolver ?? given ?? local('worker');
  if (token !== undefined && resolverToken !== undefined) {
    return {
      url: base,
      inboxUrl: inboxUrlOf(env, base),
      token: checkedToken(token, options.token === undefined ? 'COUNTERSIGN_TOKEN' : '--token'),
      resolverToken: checkedToken(resolverToken, 'COUNTERSIGN_RESOLVER_TOKEN'),
    };
  }
  throw localError(
    'forbidden',
    'tokens-file',
    noTokenFor(base, env),
    'Set COUNTERSIGN_TOKEN to the token of an agent, and COUNTERSIGN_RESOLVER_TOKEN to that of a resolver; on the machine of a standalone server, COUNTERSIGN_DATA to its data folder.',
  );
}

/** The cause when no token was found. It names the file that was read, because a client may start the command in any folder. */
export function noTokenFor(base: string, env: Env): string {
  return `There is no token for ${base}${isLocal(new URL(base)) ? ` in ${resolve(tokensFileOf(env))}` : ''}.`;
}

/** Where people open the inbox: the public URL, or that of the server. */
export function inboxUrlOf(env: Env, base: string): string {
  return publicUrlOf(env) ?? base;
}

/** `COUNTERSIGN_PUBLIC_URL` without a slash at its end. */
export function publicUrlOf(env: Env): string | undefined {
  const text = nonEmpty(env['COUNTERSIGN_PUBLIC_URL']);
  if (text === undefined) return undefined;
  const { pathname, origin } = checkedUrl(text);
  if (pathname === '/') return origin;
  throw usageError(
    'COUNTERSIGN_PUBLIC_URL has a path, and Countersign is served at the root of a host.',
    'Write it like https://approvals.example.com.',
  );
}

/** The tokens file of a server on this machine. */
export function tokensFileOf(env: Env): string {
  return nonEmpty(env['COUNTERSIGN_TOKENS_FILE']) ?? join(nonEmpty(env['COUNTERSIGN_DATA']) ?? './data', 'tokens.json');
}

function nonEmpty(value: string | undefined): string | undefined {
  return value === undefined || value.trim() === '' ? undefined : value.trim();
}

function localUrl(env: Env): string {
  return `http://127.0.0.1:${nonEmpty(env['COUNTERSIGN_PORT']) ?? '7400'}`;
}

function checkedUrl(text: string): URL {
  const url = URL.canParse(text) ? new URL(text) : undefined;
  if (url === undefined || (url.protocol !== 'http:' && url.protocol !== 'https:')) {
    throw usageError(
      `"${text}" is not a URL of a server.`,
      'Write it like http://127.0.0.1:7400 or https://countersign.example.com.',
    );
  }
  if (url.username !== '' || url.password !== '' || url.search !== '' || url.hash !== '') {
    throw usageError(
      'The URL must have no user, query or fragment.',
      'The token goes into COUNTERSIGN_TOKEN or --token.',
    );
  }
  return url;
}

/** A token with a line end or a space would be refused deep inside the HTTP client, with its text in the message. */
function checkedToken(token: string, source: string): string {
  if (/^[\x21-\x7e]+$/.test(token)) return token;
  throw usageError(`The token from ${source} is empty or has characters that no token has.`);
}

/** Returns whether a URL names this machine. The tokens file is used for no other. */
export function isLocal(url: URL): boolean {
  return url.hostname === 'localhost' || url.hostname === '[::1]' || /^127(\.\d{1,3}){3}$/.test(url.hostname);
}

const causes: Readonly<Record<string, string>> = { EISDIR: 'it is a folder', EACCES: 'permission denied' };

function tokenOf(principal: string, file: string): string | undefined {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOENT' || code === 'ENOTDIR') return undefined;
    throw localError(
      'forbidden',
      'tokens-file',
      `The tokens file ${file} cannot be read (${causes[code ?? ''] ?? String(code)}).`,
      'Set COUNTERSIGN_TOKEN, name another file with COUNTERSIGN_TOKENS_FILE, or run as its owner.',
    );
  }
  return tokensIn(text, file).find((entry) => entry.principal === principal)?.token;
}

interface TokenEntry {
  readonly principal?: unknown;
  readonly token?: string;
}

function tokensIn(text: string, file: string): TokenEntry[] {
  let list: unknown;
  try {
    list = JSON.parse(text);
  } catch {
    list = undefined;
  }
  if (!Array.isArray(list)) {
    throw localError(
      'forbidden',
      'tokens-file',
      `The tokens file ${file} is not a JSON list.`,
      'Repair it, or set COUNTERSIGN_TOKEN.',
    );
  }
  return (list as unknown[]).filter(
    (entry): entry is TokenEntry =>
      typeof entry === 'object' && entry !== null && 'token' in entry && typeof entry.token === 'string',
  );
}
