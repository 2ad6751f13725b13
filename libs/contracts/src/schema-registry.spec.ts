import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { createSchemaRegistry } from './schema-registry.js';

const open = () => createSchemaRegistry({ document: 'asyncapi' });

describe('the registry of schemas', () => {
  it('names the parts of a schema after it and their members', () => {
    const book = open();
    const part = z.strictObject({ mode: z.enum(['fast', 'slow']), at: z.iso.datetime().nullable() });
    const schema = z.strictObject({ parts: z.array(part), last: part.extend({ n: z.int() }).nullable() });
    expect(book.use(schema, 'output', 'Report')).toEqual({ $ref: '#/components/schemas/Report' });
    expect(Object.keys(book.components())).toEqual([
      'Report',
      'ReportLast',
      'ReportLastMode',
      'ReportPart',
      'ReportPartMode',
    ]);
    expect(book.components()['ReportPart']).toMatchObject({
      properties: {
        mode: { $ref: '#/components/schemas/ReportPartMode' },
        at: { type: ['string', 'null'], format: 'date-time' },
      },
    });
  });

  it('tells the alternatives of a union apart by their only values', () => {
    const book = createSchemaRegistry({ document: 'openapi' });
    const union = z.discriminatedUnion('kind', [
      z.strictObject({ kind: z.literal('a-b'), n: z.int() }),
      z.strictObject({ kind: z.literal('c') }),
    ]);
    book.use(union, 'output', 'Thing');
    expect(book.components()['Thing']).toMatchObject({
      discriminator: {
        propertyName: 'kind',
        mapping: { 'a-b': '#/components/schemas/ThingAB', c: '#/components/schemas/ThingC' },
      },
    });
    expect(book.components()).toMatchObject({
      ThingC: { properties: { kind: { $ref: '#/components/schemas/ThingCKind' } } },
      ThingCKind: { type: 'string', enum: ['c'] },
    });
  });

  it('refuses one name for two schemas', () => {
    const book = open();
    book.define('Thing', { type: 'object', properties: { a: { type: 'string' } } });
    expect(() => book.define('Thing', { type: 'object', properties: { b: { type: 'string' } } })).toThrow(
      'two schemas have the name Thing',
    );
  });

  it('refuses one name for a schema that is read in another form than it is sent', () => {
    const schema = z.strictObject({ n: z.int().default(1) }).meta({ id: 'OnlyInThisSpec' });
    const book = open();
    book.use(schema, 'input', '');
    expect(() => book.use(schema, 'output', '')).toThrow('OnlyInThisSpec is another schema in a request');
  });

  it('writes what generators read otherwise in forms that they read right', () => {
    const book = open();
    const schema = z.strictObject({
      yes: z.literal(true),
      at: z.iso.datetime(),
      since: z.string().nullable().default(null),
      ms: z.int().min(0),
      may: z.discriminatedUnion('now', [
        z.strictObject({ now: z.literal(true) }),
        z.strictObject({ now: z.literal(false), why: z.string() }),
      ]),
    });
    book.use(schema, 'output', 'Forms');
    expect(book.components()).toMatchObject({
      Forms: {
        properties: {
          yes: { type: 'boolean', not: { enum: [false] } },
          at: { type: 'string', format: 'date-time' },
          since: { type: ['string', 'null'] },
          ms: { type: 'integer', format: 'int64' },
        },
      },
      FormsMay: { properties: { now: { type: 'boolean' }, why: { type: 'string' } }, required: ['now'] },
    });
    expect(JSON.stringify(book.components())).not.toMatch(/"(pattern|default)"/);
  });

  it('names the constants of an enumeration apart from those of others', () => {
    const schema = z.enum(['a-b', 'c']).meta({ id: 'StateOfThisSpec' });
    const book = createSchemaRegistry({ document: 'openapi' });
    book.use(schema, 'output', '');
    expect(book.components()['StateOfThisSpec']).toMatchObject({
      'x-enum-varnames': ['STATE_OF_THIS_SPEC_A_B', 'STATE_OF_THIS_SPEC_C'],
    });
  });

  it('writes a description next to a reference in a way that every generator reads', () => {
    const inner = z.strictObject({ a: z.string() }).meta({ id: 'InnerOfThisSpec', description: 'What it is.' });
    const book = open();
    book.use(z.strictObject({ inner: inner.meta({ description: 'More.' }) }), 'output', 'Outer');
    expect(book.components()['Outer']).toMatchObject({
      properties: { inner: { allOf: [{ $ref: '#/components/schemas/InnerOfThisSpec' }], description: 'More.' } },
    });
  });
});
