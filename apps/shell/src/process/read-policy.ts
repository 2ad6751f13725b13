import { existsSync, readFileSync } from 'node:fs';
import { loadPolicy } from '@countersign/policy';
import type { PolicyContent } from '@countersign/policy';

/** The policy of the file that `COUNTERSIGN_POLICY` names; null without one. @throws PolicyFileError naming what is wrong and where. */
export function readPolicy(file: string | null): PolicyContent | null {
  if (file === null) return null;
  if (!existsSync(file)) throw new Error(`COUNTERSIGN_POLICY: there is no file ${file}`);
  return loadPolicy(file, readFileSync(file, 'utf8'));
}
