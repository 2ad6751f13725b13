import type { z } from 'zod';
import { readTextFile, unsetIt } from './named-files.js';

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

/**
 * Returns the text of a configuration file that a variable names.
 * @throws the error of `refuse`. The path of the problem that it gets is the variable.
 */
export function readSettings(file: string, variable: string, refuse: (problem: SettingProblem) => Error): string {
  return readTextFile(file, (problem) => refuse({ path: variable, problem }), unsetIt);
}

/** The problems of a text that is not YAML. */
export function syntaxProblems(errors: readonly { readonly message: string }[]): SettingProblem[] {
  return errors.map(({ message }) => {
    const [line = message] = message.split('\n');
    return { path: '', problem: `is not valid YAML: ${line.replace(/:$/, '')}` };
  });
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
