import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..', '..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');

/** The rule of a request, the rule of each call's own stream, and the ruling of the policy file. */
const entrances = [
  'libs/domain/src/step.decider.ts',
  'libs/domain/src/tool-call.request.ts',
  'libs/policy/src/ruling.ts',
];

/** All files that allow, ask about, block or refuse a requested call (ADR 68). */
const deciding = [
  'libs/domain/src/step.decider.ts',
  'libs/domain/src/step.grants.ts',
  'libs/domain/src/step.questions.ts',
  'libs/domain/src/tool-call.batch.ts',
  'libs/domain/src/tool-call.request.ts',
  'libs/policy/src/ruling.ts',
];

/** The files that those use: names of a state, times, seats, the terms of a rule. None of them says no. */
const words = [
  ...[
    ...['approval-requested', 'assert', 'business-hours', 'compared-identity', 'deadline-times', 'decider'],
    ...[
      'grant.state',
      'history-limits',
      'json-equality',
      'place',
      'requirement',
      'seating',
      'time',
      'tool-call.state',
      'tool-call.turn',
    ],
  ].map((name) => `libs/domain/src/${name}.ts`),
  ...['joined', 'joined-stages', 'narrowed', 'rule'].map((name) => `libs/policy/src/${name}.ts`),
];

/** The files from which a file imports values. */
function valueImports(file: string, text: string): string[] {
  const imports = text.matchAll(/^(?:import|export) (?!type\b)(?:[^;']* from )?'(\.{1,2}\/[^']+)\.js'/gm);
  return [...imports].map(([, path = '']) => posix.join(posix.dirname(file), `${path}.ts`));
}

/** The lines that make a refusal. */
function refusals(text: string): string[] {
  return text.split('\n').filter((line) => /(?<!function )\brefus(?:ed|alOfFields)\(|\bcode: '/.test(line));
}

/** A file and all files from which it takes values, directly or not. */
function reached(files: readonly string[]): string[] {
  const found = new Set(files);
  for (const file of found) for (const next of valueImports(file, read(file))) found.add(next);
  return [...found].toSorted();
}

it('six files decide about a request, and all that they use is listed here', () => {
  expect(reached(entrances)).toEqual([...deciding, ...words].toSorted());
  expect(deciding).toHaveLength(6);
});

it.each(words)('%s refuses nothing, and uses no file that decides', (file) => {
  expect(refusals(read(file))).toEqual([]);
  expect(reached([file]).filter((one) => deciding.includes(one))).toEqual([]);
});

const gathering = ['libs/commands/src/request/*.ts', 'libs/commands/src/grants/{grant-facts,take-uses}.ts'];

it.each(globSync(gathering, { cwd: root, exclude: ['**/*.spec.ts'] }))(
  '%s gathers or records, and refuses nothing',
  (file) => {
    expect(refusals(read(file))).toEqual([]);
  },
);

describe('a planted file', () => {
  const imports = (text: string) => valueImports('libs/domain/src/a.ts', text);

  it('is found by each kind of import of values', () => {
    expect(imports("import { b } from './b.js';")).toEqual(['libs/domain/src/b.ts']);
    expect(imports("import {\n  b,\n  c,\n} from './inside/b.js';")).toEqual(['libs/domain/src/inside/b.ts']);
    expect(imports("import './b.js';\nexport * as c from '../c.js';")).toEqual([
      ...['libs/domain/src/b.ts', 'libs/domain/c.ts'],
    ]);
    expect(imports("import type { B } from './b.js';\nexport type { C } from './c.js';")).toEqual([]);
  });

  it('is found when it refuses', () => {
    expect(refusals("  return refused('forbidden', 'no');")).toHaveLength(1);
    expect(refusals("  return refusalOfFields('invalid-request', errors);")).toHaveLength(1);
    expect(refusals("  return { code: 'too-many', detail };")).toHaveLength(1);
    expect(refusals('export function refused(code: RefusalCode)')).toEqual([]);
  });
});
