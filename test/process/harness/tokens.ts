import { readFileSync } from 'node:fs';
import { join } from 'node:path';

/** The tokens that a first start makes. */
export interface Tokens {
  readonly agent: string;
  readonly me: string;
  readonly worker: string;
}

/** Reads `tokens.json` of a data folder that was started once. */
export function readTokens(folder: string): Tokens {
  const entries = JSON.parse(readFileSync(join(folder, 'data', 'tokens.json'), 'utf8')) as {
    readonly principal: string;
    readonly token: string;
  }[];
  const tokenOf = (principal: string): string => {
    const token = entries.find((entry) => entry.principal === principal)?.token;
    if (token === undefined) throw new Error(`tokens.json has no token of ${principal}`);
    return token;
  };
  return { agent: tokenOf('agent'), me: tokenOf('me'), worker: tokenOf('worker') };
}
