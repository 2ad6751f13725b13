import { join } from 'node:path';
import { ConfigError } from '@countersign/runtime';
import { describe, expect, it } from '@jest/globals';
import { readOptionalPolicy, readPolicy } from './read-policy.js';

describe('the policy file', () => {
  it('is not needed', async () => {
    expect(await readOptionalPolicy(null)).toBeNull();
  });

  it.each([
    [
      'is not there',
      join(import.meta.dirname, 'nowhere.yaml'),
      'the file was not found. Create it, or correct its path',
    ],
    ['is a folder', import.meta.dirname, 'it is a folder. Name a file'],
  ])('that cannot be read is a wrong variable, not a fault of ours: it %s', async (_, file, cause) => {
    let thrown: unknown;
    try {
      await readPolicy(file);
    } catch (error) {
      thrown = error;
    }
    expect(thrown).toBeInstanceOf(ConfigError);
    expect(String(thrown)).toContain(`COUNTERSIGN_POLICY: ${file} cannot be read: ${cause}`);
  });
});
