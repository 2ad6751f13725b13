import { globSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { startCommand } from './start.js';

describe('countersign start', () => {
  it('knows its roles, and says which of them are still to come', async () => {
    await expect(startCommand('everything')).rejects.toMatchObject({
      exitCode: 2,
      message: 'There is no process "everything".',
    });
    await expect(startCommand('relay')).rejects.toMatchObject({
      exitCode: 2,
      message: '"relay" is not part of this release yet.',
    });
  });

  it('is the only command that loads the server: the others start in a fraction of that time', () => {
    const folder = import.meta.dirname;
    const sources = globSync('**/*.ts', { cwd: folder }).filter((file) => !/\.spec\.ts$|^testing/.test(file));
    expect(sources.length).toBeGreaterThan(20);
    const loading = sources.filter((file) =>
      /^import (?!type )[^;]*'@countersign\//m.test(readFileSync(join(folder, file), 'utf8')),
    );
    expect(loading).toEqual([]);
    const lazily = sources.filter((file) => readFileSync(join(folder, file), 'utf8').includes("import('@countersign/"));
    expect(lazily).toEqual(['start.ts']);
  });
});
