import { loadPolicy } from '@countersign/policy';
import type { PolicyContent } from '@countersign/policy';
import { ConfigError, readSettings } from '@countersign/runtime';

/**
 * The policy of the file that `COUNTERSIGN_POLICY` names; null when it is unset.
 * @throws ConfigError when it cannot be read; PolicyFileError with the problem and its position.
 */
export async function readPolicy(file: string | null): Promise<PolicyContent | null> {
  if (file === null) return null;
  const text = readSettings(
    file,
    (problem) => new ConfigError([{ variable: 'COUNTERSIGN_POLICY', problem: `${file} ${problem}` }]),
  );
  return readPolicyText(file, text);
}

/** The policy of a file's text. @throws PolicyFileError with every problem and its position. */
export async function readPolicyText(file: string, text: string): Promise<PolicyContent> {
  // The engine takes 0.2 s and 27 MB to load, so it is loaded only for a file that may need it.
  const cel = /\bwhen\b/.test(text) ? (await import('@countersign/cel')).celEngine : null;
  return loadPolicy(file, text, cel);
}
