import type { JsonValue } from '@countersign/contracts';
import { parse as parseToml, TomlError } from 'smol-toml';
import { isNode, LineCounter, parseDocument, visit } from 'yaml';
import type { Document } from 'yaml';
import type { z } from 'zod';
import { unrecordable } from './unrecordable.js';

/** One problem of a policy file. */
export interface PolicyProblem {
  readonly file: string;
  /** 1-based; null for the file as a whole, and for TOML until `withLines` finds it. */
  readonly line: number | null;
  readonly path: string;
  readonly message: string;
}

/** Every problem of a policy file, at once. */
export class PolicyFileError extends Error {
  override readonly name = 'PolicyFileError';
  constructor(readonly problems: readonly PolicyProblem[]) {
    super(problems.map(describeProblem).join('\n'));
  }
}

/** One problem with its place, in one line. */
export function describeProblem(problem: PolicyProblem): string {
  const where = problem.line === null ? problem.file : `${problem.file}:${String(problem.line)}`;
  return problem.path === '' ? `${where}: ${problem.message}` : `${where}: ${problem.path}: ${problem.message}`;
}

/** The value of a document, and the lines of its parts. */
export interface Parsed {
  readonly value: unknown;
  readonly lineOf: (path: readonly PropertyKey[]) => number | null;
}

/** Parses a document. The ending of `file` gives the format (`.toml`; otherwise YAML, which includes JSON). */
export function readDocument(file: string, text: string): Parsed {
  const parsed = file.endsWith('.toml') ? readToml(file, text) : readYaml(file, text);
  const issues = unrecordable(parsed.value);
  if (issues.length > 0) throw fileError(file, issues, parsed);
  return parsed;
}

/** The error for everything that is wrong with a document, in the order of its lines. */
export function fileError(file: string, issues: readonly z.core.$ZodIssue[], parsed: Parsed): PolicyFileError {
  const problems = issues.flatMap((issue) => toProblems(file, issue, parsed));
  return new PolicyFileError(inOrder(problems));
}

/** Problems in the order of their lines, those without a line first. */
export function inOrder(problems: readonly PolicyProblem[]): readonly PolicyProblem[] {
  return problems.toSorted((one, other) => (one.line ?? 0) - (other.line ?? 0));
}

function readYaml(file: string, text: string): Parsed {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, strict: true });
  // A warning is about a part that is not understood, such as a tag that other programs replace by a value.
  const faults = [...document.errors, ...document.warnings].map(({ message, pos }) => ({ message, at: pos[0] }));
  const problems = (faults.length > 0 ? faults : lostAliases(document)).map(({ message, at }) => ({
    ...{ file, line: lines.linePos(at).line, path: '' },
    message: message.split('\n')[0] ?? message,
  }));
  if (problems.length > 0) throw new PolicyFileError(problems);
  const lineOf = (path: readonly PropertyKey[]): number | null => {
    for (let length = path.length; length >= 0; length -= 1) {
      const node: unknown = document.getIn(path.slice(0, length), true);
      const start = isNode(node) ? node.range?.[0] : undefined;
      if (start !== undefined) return lines.linePos(start).line;
    }
    return null;
  };
  try {
    return { value: document.toJS({ maxAliasCount: 100 }) as JsonValue, lineOf };
  } catch {
    throw new PolicyFileError([{ file, line: 1, path: '', message: 'its aliases stand for more than 100 copies' }]);
  }
}

/** A glob without quotes, such as `*_read`, is an alias in YAML. */
function lostAliases(document: Document.Parsed): readonly { readonly message: string; readonly at: number }[] {
  const lost: { readonly message: string; readonly at: number }[] = [];
  visit(document, {
    Alias: (_, alias) => {
      if (alias.resolve(document) !== undefined) return;
      const message = `there is no anchor "${alias.source}" before it: a text that begins with "*" needs quotes`;
      lost.push({ message, at: alias.range?.[0] ?? 0 });
    },
  });
  return lost;
}

function readToml(file: string, text: string): Parsed {
  try {
    return { value: parseToml(text), lineOf: () => null };
  } catch (error) {
    if (!(error instanceof TomlError)) throw error;
    const message = error.message.split('\n')[0] ?? error.message;
    throw new PolicyFileError([{ file, line: error.line, path: '', message }]);
  }
}

function toProblems(file: string, issue: z.core.$ZodIssue, parsed: Parsed): PolicyProblem[] {
  const at = (path: readonly PropertyKey[], message: string): PolicyProblem => ({
    file,
    line: parsed.lineOf(path),
    path: path.map(String).join('.'),
    message,
  });
  if (issue.code !== 'unrecognized_keys') return [at(issue.path, issue.message)];
  return issue.keys.map((key) => at([...issue.path, key], `is not a key of this file${remedies.get(key) ?? ''}`));
}

const timeoutRemedy = '"approvalTimeout" as "expiresIn" in "defaults", such as "60s" for 60000';

/** Keys of the files of workflow engines, and what to write in their place. */
const remedies: ReadonlyMap<string, string> = new Map([
  ['workflow', `. Write "autoApprovedTools" of its "toolApproval" at the top of the file, and ${timeoutRemedy}`],
  ['toolApproval', `. Write its "autoApprovedTools" at the top of the file, and ${timeoutRemedy}`],
  ['approvalTimeout', `. Write ${timeoutRemedy}`],
]);
