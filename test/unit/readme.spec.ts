import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '../..');
const read = (file: string): string => readFileSync(join(root, file), 'utf8');
const shown = [...read('README.md').matchAll(/^```ts\n([^]*?)^```/gm)].map(([, code = '']) => code);

describe('the code in the README', () => {
  it('is there', () => {
    expect(shown).toHaveLength(1);
  });

  it.each(shown)('is that of a compiled example: %s', (code) => {
    expect(read('examples/readme.ts')).toContain(code);
  });
});
