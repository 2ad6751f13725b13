import { readFileSync } from 'node:fs';
import type { z } from 'zod';

/** One problem of a configuration file, with its place. */
export interface SettingProblem {
  /** Such as `tools[0].http.url`; empty: the file as a whole. */
  readonly path: string;
  readonly problem: string;
}

/** A configuration file is invalid. The message names every problem, one per line, without secrets. */
export class SettingsFileError extends Error {
  override readonly name: string = 'SettingsFileError';
  readonly problems: readonly SettingProblem[];

  constructor(file: string, problems: readonly SettingProblem[]) {
    const lines = problems.map(({ path, problem }) => `  ${path === '' ? '' : `${path}: `}${problem}`);
    super(`${file} cannot be used:\n${lines.join('\n')}`);
    this.problems = problems;
  }
}

/** Reads such a file. `refuse` makes the error for a file that cannot be read, from its problem. */
export function readSettings(file: string, refuse: (problem: string) => Error): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw refuse(`cannot be read: ${unreadable(error)}`);
  }
}

const causes: Readonly<Record<string, string>> = {
  ENOENT: 'the file was not found. Create it, or correct its path',
  ENOTDIR: 'a part of its path is no folder. Correct the path',
  EISDIR: 'it is a folder. Name a file',
  EACCES: 'permission denied. Let the user of this process read it',
};

/** Cause and remedy of a file that cannot be read. */
function unreadable(error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  return causes[code ?? ''] ?? message;
}

/** The violations of a schema below a place of such a file; each unknown setting separately. */
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
