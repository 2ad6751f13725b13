import { describe, expect, it } from '@jest/globals';
import type { JsonObject } from './json.js';
import { maskSchema } from './sensitive-schema.js';

const masked = (schema: JsonObject, args: JsonObject = {}, pointers: readonly string[] = []): string =>
  JSON.stringify(maskSchema(schema, args, pointers));

describe('a schema for people who may not see the hidden values', () => {
  const pin = { type: 'string', format: 'password' };
  it.each<[string, JsonObject]>([
    ['at the mark', { properties: { pin: { ...pin, default: '7391' } } }],
    ['around the mark', { properties: { pin }, examples: [{ pin: '7391' }], default: { pin: '7391' } }],
    ['inside the mark', { properties: { pin: { ...pin, anyOf: [{ const: '7391' }, { enum: ['7391'] }] } } }],
    [
      'beside a reference to the mark',
      { properties: { pin: { $ref: '#/$defs/a', default: '7391' } }, $defs: { a: pin } },
    ],
    [
      'behind a reference of the mark',
      { properties: { p: { ...pin, $ref: '#/$defs/a' } }, $defs: { a: { example: '7391' } } },
    ],
    [
      'around a chain of references that goes round',
      {
        properties: { a: { $ref: '#/$defs/a' } },
        default: { a: '7391' },
        $defs: { a: { properties: { again: { $ref: '#/$defs/a' }, pin } } },
      },
    ],
    [
      'behind a reference by name',
      { properties: { p: { ...pin, $ref: '#a' } }, $defs: { a: { $anchor: 'a', example: '7391' } } },
    ],
    [
      'beside a reference by name',
      { properties: { p: { $ref: '#a', default: '7391' } }, $defs: { a: { ...pin, $anchor: 'a' } } },
    ],
    ['at a name that tells a secret', { properties: { dbPassword: { type: 'string', default: '7391' } } }],
  ])('has no data %s', (_, schema) => {
    expect(masked(schema)).not.toContain('7391');
  });

  it('has no data of a member that is hidden by its pointer, in a list, too', () => {
    const schema = { properties: { rows: { items: { properties: { iban: { enum: ['DE-1', 'DE-2'] } } } } } };
    expect(masked(schema, { rows: [{ iban: 'DE-1' }] }, ['/rows/0/iban'])).not.toContain('DE-');
  });

  it('has no text and no data that repeat a hidden value', () => {
    const schema = {
      title: 'for hunter2',
      properties: { url: { default: 'https://x.example/?key=hunter2' }, a: { pattern: '^hunter2$' } },
    };
    expect(masked(schema, { word: 'hunter2' }, ['/word'])).not.toContain('hunter2');
  });

  it.each(['[erased]', '[key missing]'])('has no data and no text at all while a value is %s', (mark) => {
    const schema = { description: 'not hunter2', properties: { copy: { type: 'string', default: 'hunter2' } } };
    expect(maskSchema(schema, { word: mark }, ['/word'])).toEqual({ properties: { copy: { type: 'string' } } });
  });

  it('keeps the rest: members whose names are keywords, and data beside a mark', () => {
    const schema = {
      properties: { pin, default: { type: 'string' }, example: { type: 'integer', default: 3 }, enum: {} },
      description: 'pays',
    };
    expect(maskSchema(schema, { pin: '7391' }, ['/pin'])).toEqual(schema);
  });
});
