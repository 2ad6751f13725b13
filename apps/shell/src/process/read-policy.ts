import { loadPolicy } from '@countersign/policy';
import type { PolicyContent } from '@countersign/policy';
import { ConfigError, readSettings } from '@countersign/runtime';

/**
 * The policy of the file that `COUNTERSIGN_POLICY` names; null when it is unset.
 * @throws ConfigError when it cannot be read; PolicyFileError with the problem and its position.
 */
export function readPolicy(file: string | null): PolicyContent | null {
  if (file === null) return null;
  const text = readSettings(
    file,
    (problem) => new ConfigError([{ variable: 'COUNTERSIGN_POLICY', problem: `${file} ${problem}` }]),
  );
  return loadPolicy(file, text);
}
