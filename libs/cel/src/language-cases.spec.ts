import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import type { JsonObject } from '@countersign/contracts';
import { compileCel } from './expression.js';

type Answer = boolean | 'no answer';

interface LanguageCase {
  readonly expression: string;
  readonly args: JsonObject;
  /** Where implementations differ, each answer of the list is right. */
  readonly right: Answer | readonly Answer[];
  readonly why?: string;
}

/** One case per line. */
const cases = readFileSync(join(import.meta.dirname, 'golden', 'language-cases.jsonl'), 'utf8')
  .trimEnd()
  .split('\n')
  .map((line) => JSON.parse(line) as LanguageCase);

function answerOf({ expression: source, args }: LanguageCase): Answer {
  const compiled = compileCel(source);
  if ('problem' in compiled) throw new Error(compiled.problem);
  const answer = compiled.expression({ args, call: {}, nowMs: 0 });
  return 'value' in answer ? answer.value : 'no answer';
}

describe('an expression has no answer where the language calls it an error', () => {
  it.each(cases.map((one) => [one.expression, JSON.stringify(one.args), one] as const))('%s of %s', (_, __, one) => {
    expect([one.right].flat()).toContain(answerOf(one));
  });
});
