import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { expect, it } from '@jest/globals';

const folder = join(import.meta.dirname, '..', 'consent');

/** What a file of the model's folder imports from outside that folder, with all that it imports from inside. */
function outsideOf(first: string): readonly string[] {
  const [seen, outside] = [new Set([first]), new Set<string>()];
  for (const file of seen) {
    const text = readFileSync(join(folder, file), 'utf8');
    for (const [, from = ''] of text.matchAll(/(?:\bfrom|\bimport)\s*\(?\s*'([^']+)'/g)) {
      if (from.startsWith('./')) seen.add(from.slice(2));
      else outside.add(from);
    }
  }
  return [...outside].filter((from) => !from.startsWith('node:')).sort();
}

it('the model of consent knows nothing of the product that it judges', () => {
  expect(outsideOf('model.ts')).toEqual([]);
  expect(outsideOf('cases.ts')).toEqual([]);
  expect(outsideOf('commands.ts')).toEqual(['fast-check']);
  expect(outsideOf('write-side.ts')).toContain('@countersign/commands');
});
