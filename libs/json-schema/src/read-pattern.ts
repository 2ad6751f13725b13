import type { JsonValue } from '@countersign/contracts';
import type { KeywordPlace } from './keyword.js';
import { schemaLimits } from './limits.js';
import { compilePattern } from './patterns.js';
import type { Pattern } from './patterns.js';
import { estimatedProgram } from './program-size.js';
import type { Reading } from './reading.js';
import { spend } from './work.js';

/** Steps that reading costs: a pattern some hundred microseconds. */
const stepsPerPattern = 1000;
const stepsPerUnicodeClass = 2000;
const stepsPerInstruction = 8;

/** Compiles a pattern of a schema. Undefined, with a note, for one that cannot be used. */
export function readPattern(
  reading: Reading,
  text: JsonValue,
  noteAt: KeywordPlace['note'],
  path: readonly (string | number)[],
): Pattern | undefined {
  if (typeof text !== 'string') {
    noteAt('must be a pattern', ...path);
    return undefined;
  }
  const classes = text.match(/\\[pP]|\(\?[a-z]*i/g)?.length ?? 0;
  // Look-aheads are compiled one by one, and so are a few alternatives.
  const parts = 1 + (text.match(/\(\?[=!]/g)?.length ?? 0) + Math.min(text.split('|').length - 1, 8) / 2;
  const size = Math.min(2 * schemaLimits.programMax, estimatedProgram(text)) * stepsPerInstruction;
  const steps = stepsPerPattern * parts + size + classes * stepsPerUnicodeClass;
  if (!spend(reading.work, steps)) return undefined;
  const result = compilePattern(text);
  if (!('pattern' in result)) {
    noteAt(result.reason, ...path);
    return undefined;
  }
  if (reading.programs + result.pattern.program > schemaLimits.programsMax) {
    noteAt('is one pattern too many: together they are too large', ...path);
    return undefined;
  }
  reading.patterns += 1;
  reading.programs += result.pattern.program;
  return result.pattern;
}
