import { usageError } from '../cli-error.js';

/** Attack: a source with copies of changes, which are all in memory at once, each with signatures to verify. */
export const keyChangesMax = 1000;
/** A change weighs about 16 KiB, most of it the signatures of two ML-DSA-44 keys. */
export const keyChangesBytesMax = 64 * 1024 * 1024;

/** The finding about a change that its keys did not sign. Attack: words in the place of one, which a person reads. */
export const unverifiedChange = 'a change of the log key in it cannot be verified';

/** Returns the changes of the log key in a source. @throws CliError for more than {@link keyChangesMax} */
export function boundedChanges<T>(where: string, changes: readonly T[]): readonly T[] {
  if (changes.length > keyChangesMax) throw tooManyChanges(`${where} has`);
  return changes;
}

/** The error for a source with too many changes. @param begin of the sentence, with its verb */
export function tooManyChanges(begin: string): Error {
  const detail = `${begin} more than ${String(keyChangesMax)} changes of the log key.`;
  return usageError(detail, 'Ask the operator for a source that has each change once.');
}
