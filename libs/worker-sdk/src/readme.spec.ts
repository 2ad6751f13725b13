import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..');
const folder = join(root, 'examples');
const examples = readdirSync(folder).map((name) => readFileSync(join(folder, name), 'utf8'));
const readme = readFileSync(join(root, 'README.md'), 'utf8');
const snippets = [...readme.matchAll(/^```ts\n([^]*?)^```/gm)].map(([, code]) => code ?? '');

describe('the code in the README', () => {
  it.each(snippets)('is part of a compiled example: %s', (snippet) => {
    expect(examples.filter((example) => example.includes(snippet))).not.toEqual([]);
  });

  it('is there', () => {
    expect(snippets.length).toBeGreaterThan(5);
  });
});
