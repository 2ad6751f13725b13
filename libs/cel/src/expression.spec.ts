import { concealed } from '@countersign/contracts';
import type { JsonObject } from '@countersign/contracts';
import fc from 'fast-check';
import { compileCel } from './expression.js';
import type { CelAnswer } from './expression.js';
import { limits } from './limits.js';

const nowMs = Date.parse('2026-11-24T10:00:00.000Z');

/** Arguments as `JSON.parse` gives them, with names that JavaScript's objects inherit. */
const args = JSON.parse(
  '{"amount": 60, "statement": "DROP TABLE x", "nothing": null, "constructor": 1, "__proto__": {"a": 1},' +
    '"list": [1, 2, {"a": "b"}]}',
) as JsonObject;
const call = { toolName: 'refund', agentId: 'billing-1', labels: { env: 'prod' } };
const many = Array.from({ length: 10_000 }, (_, index) => index);

function problemOf(source: string): string | undefined {
  const compiled = compileCel(source);
  return 'problem' in compiled ? compiled.problem : undefined;
}

function evaluate(source: string, over: JsonObject = args): CelAnswer {
  const compiled = compileCel(source);
  if ('problem' in compiled) throw new Error(compiled.problem);
  return compiled.expression({ args: over, call, nowMs });
}

describe('an expression', () => {
  it.each([
    ['args.amount <= 50', false],
    ['args.amount == 60', true],
    ['args.amount in [60]', true],
    ['args.statement.lowerAscii().contains("drop table")', true],
    ['args.statement.matches("(?i)^drop")', true],
    ['call.labels.env == "prod" && call.toolName == "refund"', true],
    ['now > timestamp("2026-11-24T09:59:59Z") && now < timestamp("2026-11-24T10:00:01Z")', true],
    ['now.getHours("Europe/Paris") == 11', true],
    ['args.list.exists(x, x == 2)', true],
    ['args.list.filter(x, type(x) == double).size() == 2', true],
    ['args.list[2].a == "b"', true],
    ['!has(args.missing) || args.missing > 1', true],
  ])('%s is %s', (source, value) => {
    expect(evaluate(source)).toMatchObject({ value });
  });

  it.each(['has(args.nothing)', '"nothing" in args', 'args.nothing == null'])(
    'sees a member whose value is null: %s',
    (source) => {
      expect(evaluate(source)).toMatchObject({ value: true });
    },
  );

  it.each(['args.constructor == 1', 'args["__proto__"].a == 1', '!has(args.toString)', '!("valueOf" in args)'])(
    'sees the members of the JSON text and no others: %s',
    (source) => {
      expect(evaluate(source)).toMatchObject({ value: true });
    },
  );

  it.each([
    ['args.missing == 1', 'it reads a field that the call does not have', 'missing'],
    ['args.list[3] == 1', 'it reads a field that the call does not have', ''],
    ['args.amount + 1 == 61', 'the types of its values do not fit', '_+_'],
    ['args.amount', 'its result is not true or false', ''],
    ['1 / 0 == 1', 'its evaluation failed', 'divide by zero'],
    ['now.getHours("Nowhere/Here") == 1', 'its evaluation failed', 'Nowhere/Here'],
  ])('has a problem and no answer: %s', (source, problem, detail) => {
    const answer = evaluate(source);
    expect(answer).toMatchObject({ problem, detail: expect.stringContaining(detail) as string });
    expect(answer).not.toHaveProperty('value');
  });

  it.each(['int(args.secret) == 1', 'timestamp(args.secret) > now', 'args[args.secret] == 1', 'args.secret + 1 == 1'])(
    'has a problem that quotes no argument: %s',
    (source) => {
      const answer = evaluate(source, { secret: 'hunter2' });
      expect(answer).toMatchObject({ problem: expect.not.stringContaining('hunter2') as string });
    },
  );

  it('costs the same each time', () => {
    const source = 'args.list.all(x, args.list.exists(y, x == y))';
    expect(evaluate(source).cost).toBe(evaluate(source).cost);
  });
});

describe('an expression that is refused when it is read', () => {
  it.each([
    ['args.amount <=', 'expecting'],
    ['arguments.amount == 1', 'there is no "arguments"; an expression has args, call, run, now'],
    ['args.statement.toUpperCase() == ""', 'there is no function "toUpperCase"'],
    ['args.statement.replace("a", "b") == ""', 'there is no function "replace"'],
    ['args.statement.matches(args.pattern)', 'must be a text in quotes'],
    ['args.statement.matches("(a")', 'is not valid (RE2)'],
    ['args.statement.matches("(a?){300}a{300}")', 'too large'],
    ['Account{owner: "a"} == 1', 'is not a type'],
    [
      'call.toolNam == "refund"',
      '"call" has no "toolNam"; it has toolName, agentId, runId, labels, description, hints',
    ],
    ['has(call.tool)', '"call" has no "tool"'],
    ['call.hints.readOnly', '"call.hints" has no "readOnly"'],
    ['args.list.exists(x, x == run.count)', '"run" has no "count"; it has calls, denied, startedAt'],
    ['`@tick`()', 'expecting'],
    [nested(4), `more than ${String(limits.loops)} loops`],
  ])('%s', (source, problem) => {
    expect(problemOf(source)).toContain(problem);
  });

  it.each([
    ['too many characters', 'true || '.repeat(600) + 'true', `more than ${String(limits.characters)} characters`],
    ['too many parts', 'true||'.repeat(600) + 'true', `more than ${String(limits.nodes)} parts`],
    ['too many selections', 'args' + '.a'.repeat(50) + ' == 1', `more than ${String(limits.depth)} levels`],
    ['too many brackets', '('.repeat(2000) + 'true' + ')'.repeat(2000), 'it is nested too deep'],
  ])('%s', (_, source, problem) => {
    expect(problemOf(source)).toContain(problem);
  });

  it.each([
    ...['1 + 1', '"yes"', '[true]', '{"a": true}', 'args', 'now', 'size(args.list)', 'args.statement.lowerAscii()'],
    ...['args.list.map(x, x == 1)', 'args.list.filter(x, x == 1)', 'args.amount > 1 ? "yes" : "no"', 'null'],
    ...['args.ok && 1', '"prod" || args.ok', '!size(args.list)', 'args.ok && (args.ok || 0)', 'timestamp("x")'],
  ])('whose result is never true or false: %s', (source) => {
    expect(problemOf(source)).toContain('not true or false');
  });

  it.each([
    ...['args.ok', 'args.list[0]', 'true', 'bool(args.text)', 'dyn(args.ok)', 'args.ok ? args.a : args.b'],
    ...['args.list.all(x, x)', 'args.list.exists_one(x, x == 1)', '!args.ok', 'args.ok || args.list.exists(x, x)'],
    ...['args.call.tool == 1', 'args.list.exists(call, call.tool == 1)', 'call.labels.any == "x"'],
  ])('but not one whose result may be true or false: %s', (source) => {
    expect(problemOf(source)).toBeUndefined();
  });

  it('in the scope of a grant: it has no run and no hints', () => {
    const inGrant = (source: string) => compileCel(source, 'grant');
    expect(inGrant('run.calls < 3')).toMatchObject({
      problem: expect.stringContaining('there is no "run"; an expression has args, call, now') as string,
    });
    expect(inGrant('call.hints.readOnlyHint')).toMatchObject({
      problem: expect.stringContaining('"call" has no "hints"') as string,
    });
    expect(inGrant('call.agentId == "a" && args.amount < 5')).toHaveProperty('expression');
  });

  function nested(loops: number): string {
    return loops === 0 ? 'true' : `args.list.all(x${String(loops)}, ${nested(loops - 1)})`;
  }

  it('repeats not more than a line of what was written', () => {
    expect(problemOf('a'.repeat(4000))?.length).toBeLessThan(300);
  });
});

/** Each of them would run for seconds without the meter. */
describe('an expression that costs too much is stopped', () => {
  it.each([
    'args.many.all(x, args.many.all(y, x + y >= 0.0))',
    'args.many.all(x, args.many.all(y, x + y >= 0.0)) || true',
    'args.many.map(x, x).map(x, x).map(x, x).size() > 1',
    'args.many.filter(x, x > 1.0).exists(y, y == 9999.0)',
    'args.text.split("").map(x, x + args.text).size() > 1',
    `args.many${'.map(x, [x, x])'.repeat(10)} == []`,
    'args.many.exists(x, args.text.matches("(a+)+$"))',
    'args.many.all(x, args.missing == 1)',
    'args.many.exists(x, now.getHours("Europe/Paris") == 25)',
    `[${Array.from({ length: 10 }, () => 'args').join()}].exists(x, args.many == x.many && x != args)`,
  ])('%s', (source) => {
    const over = { many, text: 'a'.repeat(10_000) };
    const problem = `it costs more than ${String(limits.cost)} units`;
    expect(evaluate(source, over)).toEqual({ problem, detail: problem, cost: limits.cost });
  });

  it.each([
    'args.text.contains(args.wanted)',
    'args.text.indexOf(args.wanted) == 1',
    'args.text.lastIndexOf(args.wanted) == 1',
    'args.text.split(args.wanted).size() == 1',
  ])('before it searches for a second: %s', (source) => {
    const wanted = `${'a'.repeat(30_000)}b${'a'.repeat(30_000)}`;
    expect(evaluate(source, { text: 'a'.repeat(150_000), wanted })).toMatchObject({ cost: limits.cost });
    expect(evaluate(source, { text: 'a'.repeat(150_000), wanted: 'b' })).toHaveProperty('value');
  });

  it('doubles a list only up to a limit', () => {
    const doubled = 'args.many' + ' + args.many'.repeat(3) + ' == []';
    expect(evaluate(doubled, { many: many.slice(0, 6000) })).toMatchObject({ problem: expect.any(String) as string });
  });
});

describe('a long list in the arguments', () => {
  /** A list that counts how often it is read as a whole. */
  function counted(items: unknown[]): { readonly list: unknown[]; readonly reads: () => number } {
    let reads = 0;
    const list = new Proxy(items, {
      get: (target, key) => {
        if (key === '0') reads += 1;
        return Reflect.get(target, key) as unknown;
      },
    });
    return { list, reads: () => reads };
  }

  it.each([
    ['of any form', [1, 2]],
    ['with a hidden value', [1, concealed]],
  ])('%s is converted once for all expressions over a call', (_, items) => {
    const { list, reads } = counted(items);
    const inputs = { args: { list } as unknown as JsonObject, call, nowMs };
    for (const source of [
      'args.list.a == 1',
      'args.list + 1 == 1',
      '!args.list',
      'has(args.list.a)',
      'args.all(k, k != "")',
    ]) {
      const compiled = compileCel(source);
      if ('expression' in compiled) compiled.expression(inputs);
    }
    // Once to count its values, once to convert it.
    expect(reads()).toBe(2);
  });
});

describe('any text', () => {
  const word = fc.constantFrom(
    ...['args', 'call', 'now', '.', '(', ')', '[', ']', '{', '}', '==', '<', '&&', '||', '!', '?', ':', ',', '"a"'],
    ...['1', '2.0', 'x', 'all', 'exists', 'map', 'filter', 'has', 'size', 'matches', 'null', 'true', '+', '-', ' in '],
    ...['constructor', '__proto__', 'toString', 'list', 'duration', 'timestamp', '@', '`', '\\', '\u0000'],
  );

  it('is an expression or a problem, and neither throws', () => {
    fc.assert(
      fc.property(fc.array(word, { maxLength: 30 }), fc.jsonValue(), (words, value) => {
        const compiled = compileCel(words.join(''));
        if ('problem' in compiled) return;
        const answer = compiled.expression({ args: { list: value } as JsonObject, call, nowMs });
        expect('value' in answer).not.toBe('problem' in answer);
        expect(answer.cost).toBeLessThanOrEqual(limits.cost);
      }),
      { numRuns: 500 },
    );
  });

  it('leaves every object as it was', () => {
    evaluate('args["__proto__"].a == 1');
    expect(({} as Record<string, unknown>)['a']).toBeUndefined();
  });
});
