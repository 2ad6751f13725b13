import type { Remember } from '@countersign/contracts';
import { usageError } from '../cli-error.js';
import { durationMs } from '../duration-option.js';

/** The options with which an approval creates a standing grant. */
export interface RememberOptions {
  readonly remember?: string;
  readonly for?: string;
  readonly scope?: string;
  readonly maxUses?: number;
}

/** Returns the grant that the approval creates, or undefined without `--remember`. @throws CliError for options that conflict. */
export async function rememberOf(options: RememberOptions): Promise<Remember | undefined> {
  const { remember, for: time, scope = 'run', maxUses } = options;
  if (remember === undefined) {
    if (time === undefined && maxUses === undefined) return undefined;
    throw usageError('--for and --max-uses belong to --remember.');
  }
  if (time === undefined) throw usageError('--remember needs --for, such as --for 8h.');
  return {
    match: oneOf('--remember', ['exact', 'tool'], remember),
    scope: oneOf('--scope', ['run', 'agent'], scope),
    expiresInMs: durationMs('--for', time),
    ...(maxUses !== undefined && { maxUses }),
  };
}

function oneOf<T extends string>(option: string, words: readonly T[], given: string): T {
  const word = words.find((one) => one === given);
  if (word === undefined) throw usageError(`${option} is ${words.join(' or ')}, not "${given}".`);
  return word;
}
