// The address of Countersign, and the agent's tokens.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

export interface Connection {
  readonly url: string;
  /** Role agent: requests. */
  readonly token: string;
  /** Role resolver: claims and reports. */
  readonly resolverToken: string;
}

type Env = Readonly<Record<string, string | undefined>>;

export function urlOf(env: Env): string {
  return env['COUNTERSIGN_URL'] ?? `http://127.0.0.1:${env['COUNTERSIGN_PORT'] ?? '7400'}`;
}

/** `COUNTERSIGN_TOKEN` (and `COUNTERSIGN_RESOLVER_TOKEN`, if the first has not both roles), or the tokens file of a first start. */
export function findConnection(env: Env): Connection {
  const url = urlOf(env);
  const given = env['COUNTERSIGN_TOKEN'];
  if (given !== undefined) return { url, token: given, resolverToken: env['COUNTERSIGN_RESOLVER_TOKEN'] ?? given };
  const file = env['COUNTERSIGN_TOKENS_FILE'] ?? join(env['COUNTERSIGN_DATA'] ?? './data', 'tokens.json');
  const tokens = readTokens(file);
  const tokenWith = (role: string): string => {
    const found = tokens.find((entry) => entry.roles.includes(role) && entry.token !== undefined)?.token;
    if (found === undefined) throw new Error(`${file} has no token with role ${role}; set COUNTERSIGN_TOKEN`);
    return found;
  };
  return { url, token: tokenWith('agent'), resolverToken: tokenWith('resolver') };
}

interface TokenEntry {
  readonly token?: string;
  readonly roles: readonly string[];
}

function readTokens(file: string): readonly TokenEntry[] {
  try {
    return JSON.parse(readFileSync(file, 'utf8')) as readonly TokenEntry[];
  } catch (cause) {
    throw new Error(`cannot read ${file}: set COUNTERSIGN_TOKEN, or COUNTERSIGN_DATA to the server's data folder`, {
      cause,
    });
  }
}

export async function isReachable(url: string): Promise<boolean> {
  try {
    return (await fetch(`${url}/healthz`, { signal: AbortSignal.timeout(3000) })).ok;
  } catch {
    return false;
  }
}
