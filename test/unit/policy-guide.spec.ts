import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { celEngine } from '@countersign/cel';
import { checkPolicy, createPolicy, loadCases, runCase } from '@countersign/policy';

const root = join(import.meta.dirname, '../..');
const folder = join(root, 'examples/policies');
const read = (name: string): string => readFileSync(join(folder, name), 'utf8');
const policies = readdirSync(folder).filter((name) => /^[^.]+\.yaml$/.test(name));
const guide = readFileSync(join(root, 'docs/policy.md'), 'utf8');
const shown = [...guide.matchAll(/^```yaml\n([^]*?)^```/gm)].map(([, text = '']) => text);

describe('the guide to the policy file', () => {
  it('shows the examples as they are', () => {
    expect(policies.length).toBeGreaterThanOrEqual(5);
    for (const name of policies) expect(shown).toContain(read(name));
  });

  it('shows no policy and no case that cannot be used', () => {
    for (const [index, text] of shown.entries()) {
      if (text.startsWith('version: 1')) checkPolicy(`snippet ${String(index)}`, text, celEngine);
      else expect(loadCases(`snippet ${String(index)}`, text).length).toBeGreaterThan(0);
    }
  });

  it.each(policies)('has an example whose rules are all reached, and whose cases pass: %s', (name) => {
    const { content, warnings } = checkPolicy(name, read(name), celEngine);
    expect(warnings).toEqual([]);
    const cases = name.replace('.yaml', '.cases.yaml');
    const policy = createPolicy(content);
    const results = loadCases(cases, read(cases)).map((one) => runCase(policy, one, 0));
    expect(results.filter(({ differs }) => differs.length > 0)).toEqual([]);
    const ruled = new Set(results.map(({ ruleId }) => ruleId));
    expect(content.rules.map(({ id }) => id).filter((id) => !ruled.has(id))).toEqual([]);
  });

  it('shows expressions that can be used', () => {
    const table = guide.slice(guide.indexOf('| to ask | write |')).split('\n\n')[0] ?? '';
    const written = [...table.matchAll(/\| `(.+)` \|$/gm)].map(([, source = '']) => source);
    expect(written.length).toBeGreaterThanOrEqual(6);
    for (const source of written) expect(celEngine.compile(source)).toHaveProperty('expression');
  });
});
