import { describe, expect, it } from '@jest/globals';
import { z } from 'zod';
import { createSchemaRegistry } from './schema-registry.js';

const open = () => createSchemaRegistry({ hasDiscriminators: true });

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
    const book = open();
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
    expect(book.components()['ThingC']).toMatchObject({ properties: { kind: { type: 'string', enum: ['c'] } } });
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

  it('writes a description next to a reference in a way that every generator reads', () => {
    const inner = z.strictObject({ a: z.string() }).meta({ id: 'InnerOfThisSpec', description: 'What it is.' });
    const book = open();
    book.use(z.strictObject({ inner: inner.meta({ description: 'More.' }) }), 'output', 'Outer');
    expect(book.components()['Outer']).toMatchObject({
      properties: { inner: { allOf: [{ $ref: '#/components/schemas/InnerOfThisSpec' }], description: 'More.' } },
    });
  });
});
