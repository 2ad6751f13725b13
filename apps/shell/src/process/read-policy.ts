import { loadPolicyAndWarn, locate, withLines } from '@countersign/policy';
import type { CheckedPolicy, KnownPeople, PolicyContent } from '@countersign/policy';
import { readFileOf } from '@countersign/runtime';

/**
 * The policy of the file that `COUNTERSIGN_POLICY` names. A rule that none of `people` can answer is a problem, and so is an
 * identity that another file gives to another person.
 * @throws ConfigError when it cannot be read; PolicyFileError with every problem and its position.
 */
export async function readPolicy(file: string, people: KnownPeople | null = null): Promise<PolicyContent> {
  return (await toPolicy(file, readPolicyText(file), people)).content;
}

/** The text of the file. @throws ConfigError when it cannot be read. */
export function readPolicyText(file: string, variable = 'COUNTERSIGN_POLICY'): string {
  return readFileOf(variable, file);
}

/** The policy of a text that was read from the file, and what looks like a mistake. @throws PolicyFileError as {@link readPolicy}. */
export async function toPolicy(file: string, text: string, people: KnownPeople | null = null): Promise<CheckedPolicy> {
  // The engine takes 0.2 s and 27 MB to load, so it is loaded only for a file that may need it.
  const cel = /\bwhen\b/.test(text) ? (await import('@countersign/cel')).celEngine : null;
  const checked = withLines(file, text, () => loadPolicyAndWarn(file, text, cel, people));
  return { ...checked, warnings: locate(file, text, checked.warnings) };
}

/** The policy of a file that can be left out: null is the built-in policy. @throws as {@link readPolicy}. */
export async function readOptionalPolicy(
  file: string | null,
  people: KnownPeople | null = null,
): Promise<PolicyContent | null> {
  return file === null ? null : readPolicy(file, people);
}
