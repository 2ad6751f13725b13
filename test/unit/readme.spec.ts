import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const codeIn = (file: string): readonly string[] =>
  [...read(file).matchAll(/^```ts\n([^]*?)^```/gm)].map(([, code = '']) => code);
const shown = codeIn('README.md');

describe('the code in the README', () => {
  it('is there', () => {
    expect(shown).toHaveLength(1);
  });

  it.each(shown)('is that of a compiled example: %s', (code) => {
    expect(read('examples/readme.ts')).toContain(code);
  });
});

describe('the code of an agent with Countersign in its process', () => {
  it('is that of a compiled example', () => {
    const [code = ''] = codeIn('docs/operations.md');
    expect(code).toContain('openCountersign');
    expect(read('examples/in-process.ts')).toContain(code);
  });
});
