import { readFileSync } from 'node:fs';
import { loadPolicy } from '@countersign/policy';
import type { PolicyContent } from '@countersign/policy';
import { ConfigError } from '@countersign/runtime';

/**
 * The policy of the file that `COUNTERSIGN_POLICY` names; null without one.
 * @throws ConfigError when it cannot be read; PolicyFileError naming what is wrong and where.
 */
export function readPolicy(file: string | null): PolicyContent | null {
  return file === null ? null : loadPolicy(file, textOf(file));
}

function textOf(file: string): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    const problem = `${file} cannot be read: ${error instanceof Error ? error.message : String(error)}`;
    throw new ConfigError([{ variable: 'COUNTERSIGN_POLICY', problem }]);
  }
}
