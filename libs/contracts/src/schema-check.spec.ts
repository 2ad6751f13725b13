import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { z } from 'zod';
import { currentSchemaVersion, eventSchemas } from './events.js';
import type { RecordedEvent } from './events.js';
import { compileCheck } from './schema-check.js';

const folder = join(import.meta.dirname, 'golden');
const golden = readdirSync(folder)
  .map((file) => JSON.parse(readFileSync(join(folder, file), 'utf8')) as RecordedEvent)
  .filter(({ metadata }) => metadata.schemaVersion === currentSchemaVersion);

type Json = { [key: string]: Json } | Json[] | string | number | boolean | null;

/** Every place of a value: the objects and lists in it, with the names of their members. */
function placesIn(
  value: Json,
): { readonly of: Exclude<Json, string | number | boolean | null>; readonly name: string }[] {
  if (typeof value !== 'object' || value === null) return [];
  return Object.entries(value).flatMap(([name, inner]) => [{ of: value, name }, ...placesIn(inner)]);
}

/** The same data with one member gone, replaced or added somewhere. */
function changed(data: Json, at: number, how: 'remove' | 'replace' | 'add', value: Json): Json {
  const copy = structuredClone(data);
  const places = placesIn(copy);
  const place = places[at % places.length];
  if (place === undefined) return copy;
  const members = place.of as Record<string, Json>;
  if (how === 'replace') members[place.name] = value;
  else if (how === 'add') members['aMemberOfALaterVersion'] = value;
  else if (Array.isArray(place.of)) place.of.splice(Number(place.name), 1);
  else Reflect.deleteProperty(members, place.name);
  return copy;
}

const odd = fc.oneof(fc.jsonValue({ maxDepth: 2 }), fc.constantFrom('', 'x'.repeat(300), -1, 0, 1.5, 2 ** 53, null));

describe('the quick check of a schema', () => {
  it('is true for every event of this version, so that nearly none is checked twice', () => {
    for (const { type, data } of golden) expect([type, compileCheck(eventSchemas[type])(data)]).toEqual([type, true]);
  });

  it('is true only for what the schema accepts', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(...golden),
        fc.nat(),
        fc.constantFrom('remove' as const, 'replace' as const, 'add' as const),
        odd,
        ({ type, data }, at, how, value) => {
          const other = changed(data as unknown as Json, at, how, value as Json);
          if (compileCheck(eventSchemas[type])(other))
            expect(eventSchemas[type].safeParse(other).error).toBeUndefined();
        },
      ),
      { numRuns: 1500 },
    );
  });

  it('leaves what it does not know to the schema', () => {
    const even = compileCheck(
      z.strictObject({ n: z.number().multipleOf(2), s: z.email(), d: z.string().refine((s) => s > 'b') }),
    );
    expect(even({ n: 2, s: 'a@example.com', d: 'c' })).toBe(true);
    for (const change of [{ n: 3 }, { s: 'a' }, { d: 'a' }, { n: undefined }]) {
      expect(even({ n: 2, s: 'a@example.com', d: 'c', ...change })).toBe(false);
    }
    expect(
      compileCheck(
        z
          .string()
          .length(2)
          .overwrite((text) => text),
      )('abc'),
    ).toBe(false);
    expect(compileCheck(z.iso.datetime())('2030-13-01T00:00:00Z')).toBe(false);
  });
});
