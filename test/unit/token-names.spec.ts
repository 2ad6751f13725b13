import { describe, expect, it } from '@jest/globals';
import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

const root = join(import.meta.dirname, '..', '..');
const known = ['COUNTERSIGN_TOKEN', 'COUNTERSIGN_RESOLVER_TOKEN', 'COUNTERSIGN_FRONT_END_TOKEN'];
/** The tokens of others, and the general words for a part of such a name. */
const ofOthers = /^(AWS_SESSION|SLACK|TELEGRAM|BILLING)_/;

describe('the variable of a token', () => {
  it('has one name in all guides and examples', () => {
    const patterns = ['README.md', 'docs/**/*.md', '{,integrations/}examples/**/*.{ts,mjs,py,go,sh,md,yaml,yml}'];
    const ours = ['README.md', 'examples/**/*.{ts,mjs}'].flatMap((end) => [
      `libs/*/${end}`,
      `integrations/{,adapters/}*/${end}`,
    ]);
    const files = globSync([...patterns, ...ours], { cwd: root, exclude: ['**/node_modules'] });
    expect(files.length).toBeGreaterThan(50);
    const named = files.flatMap((file) =>
      [...readFileSync(join(root, file), 'utf8').matchAll(/\b[A-Z][A-Z_]*_TOKEN\b/g)].map(([name]) => name),
    );
    const unknown = [...new Set(named)].filter((name) => !known.includes(name) && !ofOthers.test(name));
    expect(unknown).toEqual([]);
  });
});
