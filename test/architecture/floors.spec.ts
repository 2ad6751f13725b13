import { execFile } from 'node:child_process';
import { cpSync, existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { floorsLint } from '../../architecture/lint.mjs';
import { forbidden } from '../../architecture/rules.mjs';
import { everyPlanted } from './planted.ts';

const root = join(import.meta.dirname, '..', '..');
const cache = join(root, '.cache');

interface Cruise {
  summary: { totalCruised: number; violations: { from: string; to: string; rule: { name: string } }[] };
}
type Lint = { filePath: string; messages: { ruleId: string | null; message: string }[] }[];

async function reportOf<Report>(folder: string, tool: string, args: string[]): Promise<Report> {
  return new Promise((resolve, reject) => {
    const options = { cwd: folder, maxBuffer: 2 ** 28 };
    execFile(process.execPath, [join(root, 'node_modules', tool), ...args], options, (_redOrNot, stdout, stderr) => {
      try {
        resolve(JSON.parse(stdout) as Report);
      } catch {
        reject(new Error(`${tool} gave no report: ${stderr}${stdout}`));
      }
    });
  });
}

const cruise = (folder: string, config: string): Promise<Cruise> => {
  const folders = ['libs', 'apps', 'integrations', 'test', 'bench', 'examples'].filter((name) =>
    existsSync(join(folder, name)),
  );
  const args = ['--config', config, '--output-type', 'json', ...folders];
  return reportOf(folder, 'dependency-cruiser/bin/dependency-cruiser.mjs', args);
};
const lint = (folder: string): Promise<Lint> =>
  reportOf(folder, 'eslint/bin/eslint.js', ['--config', 'eslint.config.mjs', '--format', 'json', '.']);

/** Writes the house into a folder of this repository, where the tools find what it names. */
function build(): string {
  mkdirSync(cache, { recursive: true });
  const house = mkdtempSync(join(cache, 'house-'));
  cpSync(join(import.meta.dirname, 'house'), house, { recursive: true });
  for (const { file, text } of everyPlanted) {
    mkdirSync(dirname(join(house, file)), { recursive: true });
    writeFileSync(join(house, file), text);
  }
  return house;
}

describe('the floors', () => {
  const found = new Map<string, Set<string>>();
  const note = (file: string, rule: string): void => {
    found.set(file, (found.get(file) ?? new Set()).add(rule));
  };

  const house = build();
  afterAll(() => {
    rmSync(house, { recursive: true, force: true });
  });

  beforeAll(async () => {
    const [cruised, linted] = await Promise.all([cruise(house, 'dependency-cruiser.mjs'), lint(house)]);
    for (const { from, rule } of cruised.summary.violations) note(from, rule.name);
    for (const { filePath, messages } of linted) {
      for (const { ruleId, message } of messages) note(filePath.slice(house.length + 1), ruleId ?? message);
    }
  });

  it.each(everyPlanted)('$file breaks $breaks', ({ file, breaks }) => {
    expect([...(found.get(file) ?? [])].sort()).toEqual([...breaks].sort());
  });

  it('are broken by nothing but what was planted', () => {
    const files = new Set(everyPlanted.map(({ file }) => file));
    expect([...found.keys()].filter((file) => !files.has(file))).toEqual([]);
  });

  it('have a planted violation for every rule', () => {
    const rules = [...forbidden.map(({ name }) => name), ...floorsLint.flatMap((block) => Object.keys(block.rules))];
    const broken = new Set(everyPlanted.flatMap(({ breaks }) => breaks));
    expect(rules.filter((rule) => !broken.has(rule))).toEqual([]);
  });
});
