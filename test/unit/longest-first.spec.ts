import { expect, it } from '@jest/globals';
import { existsSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');
const { longest } = (await import(join(root, 'test', 'longest-first.mjs'))) as { longest: readonly string[] };

it('every spec that begins first exists', () => {
  expect(longest.filter((file) => !existsSync(join(root, file)))).toEqual([]);
});
