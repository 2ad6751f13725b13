import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const adapters = join(import.meta.dirname, '..', '..', 'adapters');
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

  it('installs a version of each framework that the package supports', () => {
    const { peerDependencies } = JSON.parse(readFileSync(join(adapters, name, 'package.json'), 'utf8')) as {
      readonly peerDependencies: Readonly<Record<string, string>>;
    };
    const [, install = ''] = /^npm install (.*)$/m.exec(readme) ?? [];
    // `^1.71.0` allows 1, and `^0.20.0` allows 0.20.
    const supported = Object.entries(peerDependencies).map(
      ([framework, range]) => `${framework}@${/^\^(0\.\d+|[1-9]\d*)/.exec(range)?.[1] ?? range}`,
    );
    expect(supported.length).toBeGreaterThan(0);
    expect(install.split(' ')).toEqual(expect.arrayContaining(supported));
  });

  it('sets only variables that an example reads', () => {
    const variables = [...readme.matchAll(/\b([A-Z_]+_TOKEN)=/g)].map(([, variable = '']) => variable);
    expect(variables.filter((it) => !examples.some((example) => example.includes(`process.env['${it}']`)))).toEqual([]);
  });
});
