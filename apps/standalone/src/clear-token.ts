import { readFileSync } from 'node:fs';

/** Returns the token of a principal in a tokens file; undefined when the file has only its hash, as an operator's may. */
export function clearTokenOf(principal: string, file: string): string | undefined {
  const entries = JSON.parse(readFileSync(file, 'utf8')) as readonly { principal: string; token?: string }[];
  return entries.find((entry) => entry.principal === principal)?.token;
}
