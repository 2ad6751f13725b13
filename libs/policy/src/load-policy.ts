import type { JsonObject, JsonValue } from '@countersign/contracts';
import { parse as parseToml, TomlError } from 'smol-toml';
import { isNode, LineCounter, parseDocument } from 'yaml';
import type { z } from 'zod';
import type { CelEngine } from '@countersign/cel';
import { compileExpressions } from './compile-expressions.js';
import { policyFileSchema, toPolicyContent } from './policy-file.js';
import type { PolicyContent } from './policy-file.js';

/** One problem of a policy file. */
export interface PolicyProblem {
  readonly file: string;
  /** 1-based; null when the format does not give it. */
  readonly line: number | null;
  readonly path: string;
  readonly message: string;
}

/** Every problem of a policy file, at once. */
export class PolicyFileError extends Error {
  override readonly name = 'PolicyFileError';
  constructor(readonly problems: readonly PolicyProblem[]) {
    super(problems.map(describe).join('\n'));
  }
}

function describe(problem: PolicyProblem): string {
  const where = problem.line === null ? problem.file : `${problem.file}:${String(problem.line)}`;
  return problem.path === '' ? `${where}: ${problem.message}` : `${where}: ${problem.path}: ${problem.message}`;
}

/** EventStoreDB accepts 1 MiB per append. */
const contentBytesMax = 512 * 1024;

interface Parsed {
  readonly value: unknown;
  readonly lineOf: (path: readonly PropertyKey[]) => number | null;
}

/**
 * Parses a policy file. The ending of `file` gives the format (`.toml`; otherwise YAML, which includes JSON).
 * @param cel reads and evaluates expressions; null is enough for a file whose rules have none
 * @throws PolicyFileError naming every problem with file, line and path.
 */
export function loadPolicy(file: string, text: string, cel: CelEngine | null = null): PolicyContent {
  const parsed = file.endsWith('.toml') ? readToml(file, text) : readYaml(file, text);
  if (parsed.value === null || parsed.value === undefined) {
    throw new PolicyFileError([{ file, line: null, path: '', message: 'is empty: it needs at least "version: 1"' }]);
  }
  const result = policyFileSchema.safeParse(parsed.value);
  const { compiled, issues } = compileExpressions(parsed.value, cel);
  if (!result.success || issues.length > 0) {
    const problems = [...(result.error?.issues ?? []), ...issues].flatMap((issue) => toProblems(file, issue, parsed));
    throw new PolicyFileError(problems.sort((a, b) => (a.line ?? 0) - (b.line ?? 0)));
  }
  const content = parsed.value as JsonObject;
  if (Buffer.byteLength(JSON.stringify(content)) > contentBytesMax) {
    const message = `has more than ${String(contentBytesMax / 1024)} KiB as JSON, and the whole of it is recorded as one event`;
    throw new PolicyFileError([{ file, line: null, path: '', message }]);
  }
  return toPolicyContent(result.data, content, { celVersion: cel?.version ?? null, compiled });
}

function readYaml(file: string, text: string): Parsed {
  const lines = new LineCounter();
  const document = parseDocument(text, { lineCounter: lines, uniqueKeys: true, strict: true });
  if (document.errors.length > 0) {
    throw new PolicyFileError(
      document.errors.map((error) => ({
        file,
        line: lines.linePos(error.pos[0]).line,
        path: '',
        message: error.message.split('\n')[0] ?? error.message,
      })),
    );
  }
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
  return issue.keys.map((key) => at([...issue.path, key], 'is not a key of the policy file'));
}
