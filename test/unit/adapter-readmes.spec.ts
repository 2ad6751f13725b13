import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const adapters = join(import.meta.dirname, '..', '..', 'libs', 'adapters');
const names = readdirSync(adapters).filter((name) => existsSync(join(adapters, name, 'package.json')));
const unindented = (code: string): string => code.replace(/^[ \t]+/gm, '').trim();

describe.each(names)('the README of the adapter %s', (name) => {
  const readme = readFileSync(join(adapters, name, 'README.md'), 'utf8');
  const snippets = [...readme.matchAll(/^```ts\n([^]*?)^```/gm)];
  const examples = readdirSync(join(adapters, name, 'examples')).map((file) =>
    unindented(readFileSync(join(adapters, name, 'examples', file), 'utf8')),
  );

  it('shows only code of compiled examples', () => {
    expect(snippets.length).toBeGreaterThan(0);
    for (const [, code = ''] of snippets) {
      expect(examples.some((example) => example.includes(unindented(code))) ? '' : code).toBe('');
    }
  });

  it('sets only variables that an example reads', () => {
    const variables = [...readme.matchAll(/\b([A-Z_]+_TOKEN)=/g)].map(([, variable = '']) => variable);
    expect(variables.filter((it) => !examples.some((example) => example.includes(`process.env['${it}']`)))).toEqual([]);
  });
});
