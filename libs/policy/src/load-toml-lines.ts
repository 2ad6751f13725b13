import { ParseError, parseTOML } from 'toml-eslint-parser';
import type { AST } from 'toml-eslint-parser';
import { inOrder, PolicyFileError } from './load-document.js';
import type { PolicyProblem } from './load-document.js';

/**
 * Runs `load`, which reads a file. The problems of a TOML file that it throws get their lines.
 * @throws PolicyFileError with every problem, and what else `load` throws.
 */
export function withLines<T>(file: string, text: string, load: () => T): T {
  try {
    return load();
  } catch (error) {
    if (!(error instanceof PolicyFileError)) throw error;
    throw new PolicyFileError(locate(file, text, error.problems));
  }
}

/** The same problems, those of a TOML file with their lines. */
export function locate(file: string, text: string, problems: readonly PolicyProblem[]): readonly PolicyProblem[] {
  if (!file.endsWith('.toml') || problems.every(({ line, path }) => line !== null || path === '')) return problems;
  const lines = linesOf(text);
  return inOrder(problems.map((problem) => ({ ...problem, line: problem.line ?? lineAt(lines, problem.path) })));
}

/** The line of the part that a path names, or of the nearest part around it. */
function lineAt(lines: ReadonlyMap<string, number>, path: string): number | null {
  const parts = path === '' ? [] : path.split('.');
  for (let length = parts.length; length > 0; length -= 1) {
    const line = lines.get(parts.slice(0, length).join('.'));
    if (line !== undefined) return line;
  }
  return null;
}

type Path = readonly (string | number)[];

/** The lines of all parts of a document by their paths; none where the parser does not accept it. */
function linesOf(text: string): ReadonlyMap<string, number> {
  const lines = new Map<string, number>();
  const note = (path: Path, node: AST.TOMLNode): void => {
    const key = path.join('.');
    // The first line of a table that is written in several parts.
    if (!lines.has(key)) lines.set(key, node.loc.start.line);
  };
  try {
    for (const [path, node] of partsOf(parseTOML(text, { tomlVersion: 'latest' }).body[0])) note(path, node);
  } catch (error) {
    if (!(error instanceof ParseError)) throw error;
  }
  return lines;
}

function* partsOf(table: AST.TOMLTopLevelTable): Generator<[Path, AST.TOMLNode]> {
  for (const part of table.body) {
    if (part.type === 'TOMLKeyValue') yield* partsOfKey([], part);
    else {
      yield* prefixesOf([], part.resolvedKey, part);
      for (const one of part.body) yield* partsOfKey(part.resolvedKey, one);
    }
  }
}

function* partsOfKey(above: Path, { key, value }: AST.TOMLKeyValue): Generator<[Path, AST.TOMLNode]> {
  const names = key.keys.map((name) => (name.type === 'TOMLBare' ? name.name : name.value));
  yield* prefixesOf(above, names, key);
  yield* partsOfValue([...above, ...names], value);
}

function* partsOfValue(path: Path, value: AST.TOMLContentNode): Generator<[Path, AST.TOMLNode]> {
  if (value.type === 'TOMLInlineTable') for (const one of value.body) yield* partsOfKey(path, one);
  if (value.type !== 'TOMLArray') return;
  for (const [index, element] of value.elements.entries()) {
    yield [[...path, index], element];
    yield* partsOfValue([...path, index], element);
  }
}

/** A dotted key stands for each of its parts. */
function* prefixesOf(above: Path, names: Path, node: AST.TOMLNode): Generator<[Path, AST.TOMLNode]> {
  for (const index of names.keys()) yield [[...above, ...names.slice(0, index + 1)], node];
}
