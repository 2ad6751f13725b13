import { RE2JS, RE2JSCompileException, RE2JSSyntaxException } from 're2js';
import { schemaLimits } from './limits.js';
import { toRe2Text } from './pattern-text.js';

/** A compiled pattern, linear in the length of every text. */
export interface Pattern {
  readonly program: number;
  readonly test: (text: string) => boolean;
}

/** A pattern, or why it is refused. */
export type PatternResult = { readonly pattern: Pattern } | { readonly reason: string };

const compiled = new Map<string, Pattern>();
/** A compiled pattern takes about 25 kB. */
const compiledMax = 500;

/** Compiles a pattern, once for all schemas that have it. */
export function compilePattern(text: string): PatternResult {
  const known = compiled.get(text);
  if (known !== undefined) {
    compiled.delete(text);
    compiled.set(text, known);
    return { pattern: known };
  }
  const result = compileNew(text);
  if (!('pattern' in result)) return result;
  if (compiled.size >= compiledMax) compiled.delete(compiled.keys().next().value ?? '');
  compiled.set(text, result.pattern);
  return result;
}

function compileNew(text: string): PatternResult {
  const { patternCharsMax, programMax } = schemaLimits;
  if (text.length > patternCharsMax) return { reason: `has more than ${patternCharsMax} characters` };
  const re2Text = toRe2Text(text);
  if (re2Text === undefined) return { reason: 'uses a construct that patterns here do not support' };
  try {
    const re2 = RE2JS.compile(RE2JS.translateRegExp(re2Text));
    const program = re2.programSize();
    if (program > programMax) return { reason: 'is too large: shorten it or its repetitions' };
    return { pattern: { program, test: (value) => re2.test(value) } };
  } catch (error) {
    // Any other error is a failure of the engine, and says nothing about the pattern.
    if (!(error instanceof RE2JSSyntaxException || error instanceof RE2JSCompileException)) throw error;
    return { reason: `is not a linear-time pattern (RE2): ${error.message}` };
  }
}
