import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..');
const contents = (folder: string, pattern: RegExp): string[] =>
  readdirSync(join(root, folder), { recursive: true, encoding: 'utf8' })
    .filter((name) => pattern.test(name))
    .map((name) => readFileSync(join(root, folder, name), 'utf8'));
const unindented = (code: string): string => code.replace(/^[ \t]+/gm, '').trim();

const examples = contents('examples', /\.ts$/).map(unindented);
const isCompiled = (snippet: string): boolean => examples.some((example) => example.includes(unindented(snippet)));

const inReadme = [...readFileSync(join(root, 'README.md'), 'utf8').matchAll(/^```ts\n([^]*?)^```/gm)];
const inComments = contents('src', /(?<!\.spec)\.ts$/).flatMap((source) => [
  ...source.matchAll(/@example\n([^]*?)\*\//g),
]);

describe('the code that is shown', () => {
  it.each(inReadme.map(([, code = '']) => code))('in the README is part of a compiled example: %s', (snippet) => {
    expect(isCompiled(snippet)).toBe(true);
  });

  it.each(inComments.map(([, code = '']) => code.replace(/^ *\* ?/gm, '')))(
    'in a comment is part of a compiled example: %s',
    (snippet) => {
      expect(isCompiled(snippet)).toBe(true);
    },
  );

  it('is there', () => {
    expect(inReadme.length).toBeGreaterThan(5);
    expect(inComments.length).toBeGreaterThan(5);
  });
});
