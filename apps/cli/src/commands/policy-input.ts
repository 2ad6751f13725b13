import type { CheckedPolicy, KnownPeople, PolicyFileError, PolicyProblem } from '@countersign/policy';
import { printable } from '@countersign/text';
import { localError } from '../cli-error.js';
import type { Output } from '../invocation.js';
import type { Line } from '../view/line.js';

/**
 * Reads a policy file. Its problems are printed and become the error of the command.
 * @param people null: what the other files say about people is not known
 */
export async function readPolicyFile(
  output: Output,
  file: string,
  people: KnownPeople | null = null,
): Promise<CheckedPolicy> {
  const { checkPolicy, locate, withLines } = await import('@countersign/policy');
  const { celEngine } = await import('@countersign/cel');
  const text = await textOf(file);
  const checked = await orProblems(output, () =>
    withLines(file, text, () => checkPolicy(file, text, celEngine, people)),
  );
  return { ...checked, warnings: locate(file, text, checked.warnings) };
}

/** The text of a file. @throws CliError when it cannot be read. */
export async function textOf(file: string): Promise<string> {
  const { readTextFile } = await import('@countersign/runtime');
  return readTextFile(file, (problem) => localError('notFound', 'no-file', problem));
}

/** Runs the work; the problems of a file become the error of the command, one line each. */
export async function orProblems<T>(output: Output, work: () => T): Promise<T> {
  const { PolicyFileError: ProblemsOfFile } = await import('@countersign/policy');
  try {
    return work();
  } catch (error) {
    if (!(error instanceof ProblemsOfFile)) throw error;
    throw problemsError(output, error);
  }
}

function problemsError(output: Output, { problems }: PolicyFileError): Error {
  output.printJson({ problems });
  output.print(...problems.map((problem): Line => ({ text: problemText(problem), tone: 'red' })));
  const count = problems.length === 1 ? 'a problem' : `${String(problems.length)} problems`;
  return localError('refused', 'invalid-policy-file', `The file has ${count}.`, 'Nothing was changed.');
}

/** One problem of a policy file, in one line. */
export function problemText({ file, line, path, message }: PolicyProblem): string {
  const where = line === null ? file : `${file}:${String(line)}`;
  return printable([where, path, message].filter((part) => part !== '').join(': '));
}
