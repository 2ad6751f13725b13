import { readFileSync } from 'node:fs';

/** The token of a principal in a tokens file; undefined where the file has only its hash, as a file of an operator may. */
export function clearTokenOf(principal: string, file: string): string | undefined {
  const entries = JSON.parse(readFileSync(file, 'utf8')) as readonly { principal: string; token?: string }[];
  return entries.find((entry) => entry.principal === principal)?.token;
}
