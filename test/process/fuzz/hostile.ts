import type { Random } from '../harness/random.js';

/** Generates hostile JSON texts: values, schemas and bodies, from one random stream. */
export interface Hostile {
  readonly value: () => unknown;
  readonly schema: () => unknown;
  readonly argumentsFor: (schema: unknown) => unknown;
  /** The text of a request body: a tool call, mostly, and sometimes no JSON. */
  readonly body: (runId: string) => string;
}

const words = [
  '__proto__',
  'constructor',
  'toString',
  'password',
  'tokens',
  'a',
  'b',
  '',
  '~/',
  '$ref',
  'name',
  'value',
];
const types = ['object', 'array', 'string', 'number', 'integer', 'boolean', 'null'];
const patterns = [
  '^(a+)+$',
  '(a?){300}a{300}',
  '(?=a)',
  '\\p{L}{200}',
  '[^',
  '.*.*.*x',
  '(a|a)*b',
  '\\1',
  '^[\\s\\S]*$',
];
const formats = [
  'email',
  'uri',
  'url',
  'date-time',
  'regex',
  'uri-template',
  'ipv6',
  'password',
  'duration',
  'nonsense',
];
const texts = ['https://a:b@c', '{"token":"x"}', '\u0000', '[masked]', '://'.repeat(50), '{"a":'.repeat(30), '[1,'];

/** Hostile input from one random stream. */
export function createHostile(random: Random): Hostile {
  const { int, pick, chance } = random;
  // The remaining budget of one body: without it, nested lists would exceed the memory of the test.
  let parts = 0;
  const isUsedUp = (cost = 1): boolean => (parts -= cost) < 0;
  const many = <T>(max: number, make: (index: number) => T): T[] =>
    Array.from({ length: int(0, max) }, (_, index) => make(index));
  const name = (): string =>
    chance(0.02) && !isUsedUp(1000) ? 'k'.repeat(int(1, 50_000)) : pick(words) + String(int(0, 9));
  const text = (): string =>
    chance(0.1) && !isUsedUp(500) ? pick(['a', '"', ':', '/', '&x=']).repeat(int(1, 20_000)) : pick(texts);
  const scalar = (): unknown => pick([null, true, 0, -0, 1e308, 1e-308, 2 ** 53, 0.1, text()]);

  const value = (depth = int(0, 8)): unknown => {
    if (depth === 0 || isUsedUp() || chance(0.3)) return scalar();
    if (chance(0.5)) return many(chance(0.1) ? 2000 : 6, () => value(chance(0.9) ? 0 : depth - 1));
    return Object.fromEntries(many(chance(0.1) ? 1000 : 6, () => [name(), value(depth - 1)]));
  };
  const reference = (): string =>
    chance(0.1) ? pick(['#/$defs/none', 'https://e.example/x', '%%', '#here', '#']) : pick(['#/$defs/x', '#/$defs/y']);

  const keyword = (depth: number): readonly [string, unknown] => {
    const inner = (): unknown => schemaAt(depth - 1);
    const map = (): unknown => Object.fromEntries(many(4, () => [name(), inner()]));
    const list = (): unknown => many(chance(0.1) ? 40 : 4, inner);
    return pick<() => readonly [string, unknown]>([
      () => ['type', chance(0.05) ? 'nonsense' : ['object', pick(types)]],
      () => [pick(['enum', 'examples']), many(50, () => value(2))],
      () => [pick(['const', 'default']), value(3)],
      () => [pick(['properties', '$defs', 'definitions', 'dependentSchemas', 'dependencies']), map()],
      () => ['patternProperties', { [pick(patterns)]: inner(), '': inner() }],
      () => [pick(['allOf', 'anyOf', 'oneOf', 'prefixItems', 'items']), list()],
      () => [
        pick(['additionalProperties', 'items', 'contains', 'not', 'propertyNames', 'if', 'then', 'else']),
        inner(),
      ],
      () => [pick(['unevaluatedProperties', 'unevaluatedItems', 'contentSchema', 'x-more']), inner()],
      () => [
        pick(['$ref', '$ref', '$ref', '$ref', '$ref', '$ref', '$ref', '$ref', '$ref', '$id', '$anchor', '$dynamicRef']),
        reference(),
      ],
      () => ['pattern', pick(patterns)],
      () => ['format', pick(formats)],
      () => ['uniqueItems', true],
      () => [pick(['required', 'dependentRequired']), many(5, name)],
      () => [pick(['minimum', 'multipleOf', 'maxLength', 'minItems', 'minContains']), pick([0, -1, 1e308, 0.1, 'x'])],
      () => [pick(['sensitive', 'x-sensitive', 'writeOnly', 'nullable']), true],
    ])();
  };
  const schemaAt = (depth: number): unknown => {
    if (depth <= 0 || isUsedUp() || chance(0.1))
      return chance(0.02) ? 7 : pick<unknown>([true, true, {}, { $ref: '#/$defs/x' }]);
    return Object.fromEntries(many(5, () => keyword(depth)));
  };
  /** Branches that refer to one another: the number of paths grows with the depth of the arguments. */
  const branching = (): unknown => {
    const anyOf = Array.from({ length: int(2, 40) }, () => ({
      [pick(['additionalProperties', 'items', 'unevaluatedProperties', 'contains'])]: {
        $ref: pick(['#/$defs/x', '#/$defs/y']),
      },
    }));
    return {
      $ref: '#/$defs/x',
      $defs: { x: { [pick(['anyOf', 'oneOf', 'allOf'])]: anyOf }, y: { anyOf, ...(schemaAt(1) as object) } },
    };
  };
  const definitions = { x: { properties: { a: { $ref: '#/$defs/y' } } }, y: { minLength: 1, uniqueItems: true } };
  const schema = (): unknown => {
    if (chance(0.3)) return branching();
    const plain = schemaAt(int(1, chance(0.1) ? 40 : 5));
    return typeof plain === 'object' ? { ...plain, $defs: definitions } : {};
  };

  const deep = (): unknown => {
    if (isUsedUp()) return {};
    const [open, close] = pick([
      ['{"a":', '}'],
      ['[', ']'],
      ['{"password":[', ']}'],
    ] as const);
    const levels = int(1, 25);
    return { a: JSON.parse(`${open.repeat(levels)}1${close.repeat(levels)}`) as unknown };
  };
  const wide = (): unknown => ({
    a: Array.from({ length: isUsedUp(1000) ? 1 : int(1, 12_000) }, (_, id) => (chance(0.5) ? { id } : id)),
  });
  const argumentsFor = (): unknown =>
    pick<() => unknown>([deep, wide, () => ({ a: value() }), () => ({ [name()]: value() })])();

  const call = (index: number): object => {
    const toolSchema = schema();
    return {
      toolCallId: `c${index}`,
      toolName: chance(0.02) ? '' : pick(['move', 'x'.repeat(128)]),
      arguments: argumentsFor(),
      ...(chance(0.8) ? { toolSchema } : {}),
      ...(chance(0.02) ? { [name()]: value() } : {}),
    };
  };
  const damaged = (whole: string): string => {
    const at = int(0, whole.length);
    return pick([
      () => whole.slice(0, at),
      () => whole.replaceAll('1', '1e999'),
      () => whole.replace('{', '{"runId":"a","runId":"b",'),
      () => '['.repeat(int(1, 100_000)),
      () => whole.replace(':', ':123456789012345678901234567890,"x":'),
      () => `${whole}${whole}`,
    ])();
  };
  const body = (runId: string): string => {
    parts = 5000;
    const whole = JSON.stringify({
      runId,
      calls: [call(0), ...many(chance(0.2) ? 40 : 2, (index) => call(index + 1))],
    });
    return chance(0.2) ? damaged(whole) : whole;
  };
  return { value: () => value(), schema, argumentsFor, body };
}

/** How long a fuzzer runs: `COUNTERSIGN_FUZZ_SECONDS`. Default: some seconds. */
export function fuzzMs(): number {
  return Number(process.env['COUNTERSIGN_FUZZ_SECONDS'] ?? '8') * 1000;
}
