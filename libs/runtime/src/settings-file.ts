import { readFileSync } from 'node:fs';
import type { z } from 'zod';

/** What is wrong at one place of a file that a person writes. */
export interface SettingProblem {
  /** Such as `tools[0].http.url`; empty: the file as a whole. */
  readonly path: string;
  readonly problem: string;
}

/** A file of settings is not usable. The message names every place that is wrong, one a line, and no secret. */
export class SettingsFileError extends Error {
  override readonly name: string = 'SettingsFileError';
  readonly problems: readonly SettingProblem[];

  constructor(file: string, problems: readonly SettingProblem[]) {
    const lines = problems.map(({ path, problem }) => `  ${path === '' ? '' : `${path}: `}${problem}`);
    super(`${file} cannot be used:\n${lines.join('\n')}`);
    this.problems = problems;
  }
}

/** The text of such a file. `refuse` makes the error of one that cannot be read, of what is wrong with it. */
export function readSettings(file: string, refuse: (problem: string) => Error): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw refuse(`cannot be read: ${error instanceof Error ? error.message : String(error)}`);
  }
}

/** What a schema found wrong below a place of such a file; each unknown setting by itself. */
export function settingProblems(place: string, error: z.ZodError): SettingProblem[] {
  return error.issues.flatMap((issue) => {
    const path = issue.path.reduce<string>(below, place);
    switch (issue.code) {
      case 'unrecognized_keys':
        return issue.keys.map((key) => ({ path: below(path, key), problem: 'is not a known setting' }));
      case 'invalid_key':
        return issue.issues.map(({ message }) => ({ path, problem: message }));
      default:
        return [{ path, problem: issue.message }];
    }
  });
}

function below(place: string, part: PropertyKey): string {
  if (typeof part === 'number') return `${place}[${String(part)}]`;
  return place === '' ? String(part) : `${place}.${String(part)}`;
}
