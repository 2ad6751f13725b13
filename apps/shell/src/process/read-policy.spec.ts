import { join } from 'node:path';
import { ConfigError } from '@countersign/runtime';
import { describe, expect, it } from '@jest/globals';
import { readOptionalPolicy, readPolicy } from './read-policy.js';

const nowhere = join(import.meta.dirname, 'nowhere.yaml');

describe('the policy file', () => {
  it('is not needed', async () => {
    expect(await readOptionalPolicy(null)).toBeNull();
  });

  it.each([
    ['is not there', nowhere, `file not found: ${nowhere}. Create it or unset the variable.`],
    ['is a folder', import.meta.dirname, `this is a folder: ${import.meta.dirname}. Name a file.`],
  ])('that cannot be read is a wrong variable, not a fault of ours: it %s', async (_, file, problem) => {
    let thrown: unknown;
    try {
      await readPolicy(file);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(ConfigError);
    expect(String(thrown)).toContain(`COUNTERSIGN_POLICY: ${problem}`);
  });
});
