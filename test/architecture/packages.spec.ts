import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { nodeSafety } from '@countersign/runtime';
import { describe, expect, it } from '@jest/globals';
import { floors } from '../../architecture/floors.mjs';

const root = join(import.meta.dirname, '..', '..');

interface Manifest {
  name: string;
  version: string;
  dependencies?: Record<string, string>;
  devDependencies?: Record<string, string>;
}
interface Lock {
  packages: Record<string, { optionalDependencies?: Record<string, string> }>;
}
interface Project {
  references?: { path: string }[];
}

const json = (file: string): unknown => JSON.parse(readFileSync(join(root, file), 'utf8'));
const manifestOf = (unit: string): Manifest => json(join(unit, 'package.json')) as Manifest;
const projectOf = (unit: string): Project => json(join(unit, 'tsconfig.json')) as Project;

const units = ['libs', 'apps', 'integrations', 'integrations/adapters']
  .flatMap((parent) => readdirSync(join(root, parent)).map((name) => `${parent}/${name}`))
  .filter((unit) => unit !== 'integrations/adapters' && existsSync(join(root, unit, 'package.json')));

const lastPart = (path: string): string => path.split('/').at(-1) ?? path;

describe('the packages', () => {
  it('all stand on a floor', () => {
    const known = floors.map(({ unit }) => unit);
    expect(units.filter((unit) => !known.includes(unit))).toEqual([]);
  });

  it('are all built, those that end in one bundle by their bundler', () => {
    const adapters = projectOf('integrations/adapters').references?.filter(({ path }) => !path.startsWith('..')) ?? [];
    const built = [
      ...((json('tsconfig.build.json') as Project).references?.map(({ path }) => path) ?? []),
      ...adapters.map(({ path }) => `integrations/adapters/${path}`),
    ];
    const bundled = floors.filter((floor) => floor.bundled === true).map(({ unit }) => unit);
    expect([...built, ...bundled].sort()).toEqual([...units].sort());
  });

  it.each(units)('%s refers the compiler to exactly the packages that it declares', (unit) => {
    // The helpers of its specs are compiled with it, unless a bundler makes it.
    const isBundled = floors.some((floor) => floor.unit === unit && floor.bundled === true);
    const { dependencies, devDependencies } = manifestOf(unit);
    const all = Object.keys({ ...dependencies, ...(isBundled ? {} : devDependencies) });
    const declared = all.filter((name) => name.startsWith('@countersign/'));
    const referred = projectOf(unit).references?.map(({ path }) => lastPart(path)) ?? [];
    expect(referred.sort()).toEqual(declared.map(lastPart).sort());
  });

  it.each(units)('%s is named after its folder and has the version of the whole', (unit) => {
    const { name, version } = manifestOf(unit);
    expect({ name, version }).toEqual({
      name: `@countersign/${lastPart(unit)}`,
      version: manifestOf('.').version,
    });
  });

  it('are all named by the lines that install them from files, with the packages that they need', () => {
    const pages = ['libs', 'integrations/adapters'].flatMap((parent) =>
      readdirSync(join(root, parent)).map((name) => join(parent, name, 'README.md')),
    );
    const texts = [...pages, 'docs/react.md']
      .filter((page) => existsSync(join(root, page)))
      .map((page) => readFileSync(join(root, page), 'utf8'));
    const lines = texts.flatMap((text) => [...text.matchAll(/^npm install .*countersign-\{(.*)\}/gm)]);
    const folderOf = (name: string): string => units.find((unit) => lastPart(unit) === name) ?? name;
    const needed = (name: string): string[] =>
      Object.keys(manifestOf(folderOf(name)).dependencies ?? {})
        .filter((dependency) => dependency.startsWith('@countersign/'))
        .flatMap((dependency) => [lastPart(dependency), ...needed(lastPart(dependency))]);
    expect(lines.length).toBeGreaterThan(5);
    for (const [line, names = ''] of lines) {
      const given = names.split(',');
      const missing = given.flatMap(needed).filter((name) => !given.includes(name));
      expect({ line, missing: [...new Set(missing)] }).toEqual({ line, missing: [] });
    }
  });

  it('are locked for every platform', () => {
    const { packages } = json('package-lock.json') as Lock;
    const optional = Object.values(packages).flatMap((entry) => Object.keys(entry.optionalDependencies ?? {}));
    const locked = new Set(Object.keys(packages).map((path) => path.split('node_modules/').at(-1)));
    expect(optional.filter((name) => !locked.has(name))).toEqual([]);
  });

  it('bring a Node of one release line for every platform, recent enough for what the log needs', () => {
    const { packages } = json('package-lock.json') as Lock;
    const nodes = Object.entries(packages['']?.optionalDependencies ?? {}).filter(([name]) => name.startsWith('node-'));
    const releases = nodes.map(([, version]) => version.split('.').map(Number));
    expect(nodes.length).toBe(5);
    expect([...new Set(releases.map(([major]) => major))]).toEqual([26]);
    expect(releases.filter(([, minor = 0]) => minor < 10)).toEqual([]);
  });

  it('bring a Node with all known security fixes on Linux, where servers run', () => {
    const { packages } = json('package-lock.json') as Lock;
    const nodes = Object.entries(packages['']?.optionalDependencies ?? {}).filter(([name]) =>
      name.startsWith('node-linux-'),
    );
    expect(nodes.map(([, version]) => nodeSafety(version))).toEqual(
      nodes.map(([, version]) => ({ version, safe: true })),
    );
    expect(nodes.length).toBe(2);
  });

  it('are locked without download addresses', () => {
    for (const lock of ['package-lock.json', 'integrations/adapters/package-lock.json']) {
      expect(readFileSync(join(root, lock), 'utf8')).not.toContain('"resolved": "http');
    }
  });
});

describe('the suites', () => {
  it('all run in CI', async () => {
    const suitesOf = async (file: string): Promise<readonly string[]> => {
      const { default: config } = (await import(join(root, file))) as {
        default: { projects: { displayName: string }[] };
      };
      return config.projects.map(({ displayName }) => displayName);
    };
    // In CI some suites are two projects: only one of them counts lines.
    const suites = new Set([
      ...(await suitesOf('jest.config.mjs')),
      ...(await suitesOf('integrations/jest.config.mjs')),
    ]);
    const inCi = [
      ...readFileSync(join(root, '.ci', 'run'), 'utf8').matchAll(/npm --silent test -- ([a-z ]+?)(?: \||$)/gm),
    ];
    const run = inCi.flatMap(([, names = '']) => names.split(' '));
    expect(run.toSorted()).toEqual([...suites].toSorted());
  });
});
