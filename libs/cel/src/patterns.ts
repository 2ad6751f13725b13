import { RE2JS, RE2JSCompileException, RE2JSSyntaxException } from 're2js';
import { limits } from './limits.js';

/** Compiled patterns: RE2, linear in the length of a text. */
const compiled = new Map<string, RE2JS>();

/** The compiled pattern. @throws Error when it is not valid or too large. */
export function compilePattern(pattern: string): RE2JS {
  const known = compiled.get(pattern);
  if (known !== undefined) return known;
  const re2 = RE2JS.compile(pattern);
  // The first match builds as many states as the program has instructions.
  if (re2.programSize() > limits.program) throw new Error('it is too large: shorten it or its repetitions');
  if (compiled.size >= limits.patterns) compiled.delete(compiled.keys().next().value ?? '');
  compiled.set(pattern, re2);
  return re2;
}

/** Returns why a pattern cannot be used; undefined when it can. */
export function patternProblem(pattern: string): string | undefined {
  try {
    compilePattern(pattern);
    return undefined;
  } catch (error) {
    if (error instanceof RE2JSSyntaxException || error instanceof RE2JSCompileException) {
      return `the pattern "${pattern}" is not valid (RE2): ${error.message}`;
    }
    return `the pattern "${pattern}" cannot be used: ${error instanceof Error ? error.message : String(error)}`;
  }
}
