import { mkdirSync, readFileSync } from 'node:fs';
import { ConfigError, Secret } from './config.js';

/** Makes an error from the problem of a file. */
type Refuse = (problem: string) => Error;

/**
 * Returns the text of a file that a person named.
 * @param otherwise the remedy for a missing file, other than creating it
 * @throws the error of `refuse`. The problem that it gets names the file, the cause and the remedy.
 */
export function readTextFile(
  file: string,
  refuse: Refuse = (problem) => new Error(problem),
  otherwise = 'correct the path',
): string {
  try {
    return readFileSync(file, 'utf8');
  } catch (error) {
    throw refuse(fileProblem(file, otherwise, error));
  }
}

/**
 * Returns the text of the file that an environment variable names.
 * @throws ConfigError with the variable, the file, the cause and the remedy.
 */
export function readFileOf(variable: string, file: string): string {
  return readTextFile(file, (problem) => new ConfigError([{ variable, problem }]), unsetIt);
}

/**
 * Returns the secret in the file that an environment variable names, without the line ends after it.
 * @throws ConfigError as {@link readFileOf}, and when the file is empty.
 */
export function readSecretOf(variable: string, file: string): Secret {
  const text = readFileOf(variable, file).replace(/[\r\n]+$/, '');
  if (text === '')
    throw new ConfigError([{ variable, problem: `the file is empty: ${file}. Write the secret into it.` }]);
  return new Secret(text);
}

/** The remedy for a missing file that a variable names. */
export const unsetIt = 'unset the variable';

function fileProblem(file: string, otherwise: string, error: unknown): string {
  const { code, message } = error as NodeJS.ErrnoException;
  switch (code) {
    case 'ENOENT':
      return `file not found: ${file}. Create it or ${otherwise}.`;
    case 'ENOTDIR':
      return `file not found: ${file}. A part of its path is a file: correct the path.`;
    case 'EISDIR':
      return `this is a folder: ${file}. Name a file.`;
    case 'EACCES':
    case 'EPERM':
      return `permission denied: ${file}. Let the user of this process read it.`;
    default:
      return `the file cannot be read: ${file} (${message}).`;
  }
}

/**
 * Makes the folder that an environment variable names, unless it exists. Only its owner can read it.
 * @throws ConfigError with the variable, the folder, the cause and the remedy.
 */
export function makeFolderOf(variable: string, folder: string): void {
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
  } catch (error) {
    const { code, message } = error as NodeJS.ErrnoException;
    const isFile = code === 'EEXIST' || code === 'ENOTDIR';
    const problem = isFile
      ? `a file is in the place of the folder or of a part of its path: ${folder}. Name a folder.`
      : `the folder cannot be made: ${folder} (${message}). Let the user of this process make it, or name another one.`;
    throw new ConfigError([{ variable, problem }]);
  }
}
