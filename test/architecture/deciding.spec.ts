import { globSync, readFileSync } from 'node:fs';
import { join, posix } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { refusals, refusersUsed } from './refusals.js';

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
      'stop.state',
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

const inLibs = (pattern: string) =>
  globSync(pattern, { cwd: root, exclude: ['**/*.spec.ts', '**/testing/**', '**/testing.ts'] }).toSorted();

const gathering = inLibs('libs/commands/src/{request/*,grants/grant-facts,grants/take-uses}.ts');

it.each(gathering)('%s gathers or records, and refuses nothing', (file) => {
  expect(refusals(read(file))).toEqual([]);
});

/** Outside the six files, what the road of a request uses that says no. */
const askedElsewhere = [
  // Whether the people behind a grant could approve the call: a fact. A use that is lost is no refusal of the request.
  ...['libs/domain/src/grant.coverage.ts#couldApprove', 'libs/domain/src/grant.decider.ts#grantDecider'],
  // A stream that cannot be read: there are no facts.
  ...['libs/commands/src/stream/forbidden.ts#assertNotForbidden'],
  ...['libs/commands/src/stream/handle-command.ts#assertReadable'],
  // What follows from a recorded call: the batch, the question and the call around it, each by its own rule.
  ...['inBatch', 'settleRequested'].map((name) => `libs/commands/src/batch.ts#${name}`),
  ...['libs/commands/src/people/ask.ts#unlessDecided', 'libs/commands/src/people/end-inside.ts#endIfInsideCancelled'],
];

/** What a later question uses that says no. Its rule is `requestApproval` in `tool-call.question.ts`. */
const askedLater = [
  ...['batch.ts#builtInBatch', 'batch.ts#settleBatch', 'people/end-inside.ts#endIfInsideCancelled'],
  ...['stream/forbidden.ts#forbidden', 'stream/with-tool-call.ts#withToolCall'],
].map((name) => `libs/commands/src/${name}`);

/** The files of people's commands that say no in words of their own, before a rule: who answers, what size, which signature. */
const ownWords = [
  ...['output-size', 'passkeys', 'repeated-response', 'respond-in-bulk', 'respond', 'responder', 'sign-answer'],
].map((name) => `libs/commands/src/people/${name}.ts`);

describe('what says no', () => {
  const sources = new Map(inLibs('libs/{commands,domain}/src/**/*.ts').map((file) => [file, read(file)]));
  const used = refusersUsed(sources);

  it.each(gathering)('%s hands on the refusals of the six files alone, also through a helper', (file) => {
    const own = (name: string): boolean => [...deciding, ...gathering].some((one) => name.startsWith(`${one}#`));
    expect(used.get(file)?.filter((name) => !own(name) && !askedElsewhere.includes(name))).toEqual([]);
  });

  it('a request needs all that is listed', () => {
    const all = new Set(gathering.flatMap((file) => used.get(file) ?? []));
    expect(askedElsewhere.filter((name) => !all.has(name))).toEqual([]);
  });

  it('a later question hands on the refusals of its rule alone', () => {
    const rule = 'libs/domain/src/tool-call.question.ts#askedNobody';
    expect(used.get('libs/commands/src/people/ask.ts')).toEqual([...askedLater, rule].toSorted());
  });

  it('seven files of people say no in words of their own', () => {
    const people = inLibs('libs/commands/src/people/*.ts');
    expect(people.filter((file) => refusals(read(file)).length > 0)).toEqual(ownWords.toSorted());
  });

  it('a planted helper is seen, and what it uses in turn', () => {
    const planted = new Map([
      ['libs/domain/src/rule.ts', "export function no() {\n  return { code: 'stopped', detail };\n}\n"],
      ['libs/commands/src/a.ts', "import { no } from '@countersign/domain';\nexport const held = () => no();\n"],
      ['libs/commands/src/b.ts', "import { held as by } from './a.js';\nfunction f() {\n  return by();\n}\n"],
      ['libs/commands/src/c.ts', "import type { held } from './a.js';\n/** Not held. */\nexport const free = 1;\n"],
    ]);
    const found = refusersUsed(planted);
    expect(found.get('libs/commands/src/b.ts')).toEqual(['libs/commands/src/a.ts#held']);
    expect(found.get('libs/commands/src/a.ts')).toEqual(['libs/domain/src/rule.ts#no']);
    expect(found.get('libs/commands/src/c.ts')).toEqual([]);
  });
});

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
