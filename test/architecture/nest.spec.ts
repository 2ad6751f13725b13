import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const root = join(import.meta.dirname, '..', '..');

interface NestProject {
  readonly entryFile: string;
  readonly sourceRoot: string;
  readonly compilerOptions: { readonly tsConfigPath: string };
}

describe('nest-cli.json', () => {
  const text = readFileSync(join(root, 'nest-cli.json'), 'utf8');
  const { projects } = JSON.parse(text) as { readonly projects: Readonly<Record<string, NestProject>> };

  it('names every process', () => {
    const roles = readdirSync(join(root, 'apps', 'cluster', 'src', 'roles')).map((file) => file.replace(/\..*$/, ''));
    expect(Object.keys(projects).sort()).toEqual([...new Set([...roles, 'standalone'])].sort());
  });

  it.each(Object.entries(projects))('%s has an entry file that starts it', (name, project) => {
    const entry = readFileSync(join(root, project.sourceRoot, `${project.entryFile}.ts`), 'utf8');
    expect(entry).toContain(name === 'standalone' ? 'await main();' : `await main('${name}');`);
    expect(existsSync(join(root, project.compilerOptions.tsConfigPath))).toBe(true);
  });
});
