import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import { floorsLint } from '../../architecture/lint.mjs';
import { forbidden } from '../../architecture/rules.mjs';

const root = join(import.meta.dirname, '..', '..');
const planted = join(import.meta.dirname, 'planted');

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
  const folders = ['libs', 'apps', 'test', 'bench', 'examples'].filter((name) => existsSync(join(folder, name)));
  const args = ['--config', config, '--output-type', 'json', ...folders];
  return reportOf(folder, 'dependency-cruiser/bin/dependency-cruiser.mjs', args);
};
const lint = (folder: string): Promise<Lint> =>
  reportOf(folder, 'eslint/bin/eslint.js', ['--config', 'eslint.config.mjs', '--format', 'json', '.']);

/** What each planted file says of itself in its first line: `// breaks: rule, rule`. */
function announced(): Map<string, string[]> {
  const files = readdirSync(planted, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.ts'));
  return new Map(
    files.flatMap((file) => {
      const rules = /^\/\/ breaks: (.*)$/m.exec(readFileSync(join(planted, file), 'utf8'))?.[1];
      return rules === undefined ? [] : [[file, rules === 'nothing' ? [] : rules.split(', ')] as const];
    }),
  );
}

describe('the floors', () => {
  const found = new Map<string, Set<string>>();
  const note = (file: string, rule: string): void => {
    found.set(file, (found.get(file) ?? new Set()).add(rule));
  };

  beforeAll(async () => {
    const [cruised, linted] = await Promise.all([cruise(planted, 'dependency-cruiser.mjs'), lint(planted)]);
    for (const { from, rule } of cruised.summary.violations) note(from, rule.name);
    for (const { filePath, messages } of linted) {
      for (const { ruleId, message } of messages) note(filePath.slice(planted.length + 1), ruleId ?? message);
    }
  }, 120_000);

  it.each([...announced()])('%s breaks %j', (file, rules) => {
    expect([...(found.get(file) ?? [])].sort()).toEqual([...rules].sort());
  });

  it('are broken by nothing but what was planted', () => {
    expect([...found.keys()].filter((file) => !announced().has(file))).toEqual([]);
  });

  it('have a planted violation for every rule', () => {
    const rules = [...forbidden.map(({ name }) => name), ...floorsLint.flatMap((block) => Object.keys(block.rules))];
    const broken = new Set([...announced().values()].flat());
    expect(rules.filter((rule) => !broken.has(rule))).toEqual([]);
  });
});
