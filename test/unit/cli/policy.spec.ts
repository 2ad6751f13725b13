import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createCliRun } from '@countersign/cli/testing';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'countersign-policy-'));
  writeFileSync(join(folder, 'good.yaml'), good);
  writeFileSync(join(folder, 'bad.yaml'), bad);
  writeFileSync(join(folder, 'cases.yaml'), cases);
});
afterAll(() => {
  rmSync(folder, { recursive: true, force: true });
});

const good = `version: 1
rules:
  - { id: small, match: { tools: [refund] }, when: args.amount <= 50, then: allow }
  - { id: refunds, match: { tools: ["refund*"] }, then: { require: { anyOf: [ops] } } }
  - { id: late, match: { tools: [refund_all] }, then: { block: never } }
`;

const bad = `version: 1
rules:
  - id: a
    when: 'args.amount <='
    then: { require: { people: 2 } }
`;

const cases = `
- { call: { toolName: refund, arguments: { amount: 60 } }, expect: { outcome: require, ruleId: refunds } }
- { call: { toolName: refund, arguments: { amount: 5 } }, expect: { outcome: block } }
`;

const run = createCliRun({});
const inFolder = (name: string): string => join(folder, name);

describe('countersign policy check', () => {
  it('says that a file is fine, and which rules no call reaches', async () => {
    const { code, out } = await run('policy', 'check', inFolder('good.yaml'));
    expect(code).toBe(0);
    expect(out).toMatch(/good\.yaml is fine: 3 rules, version sha256:[0-9a-f]{64}\n/);
    expect(out).toContain('good.yaml:5: rules.2: no call reaches "late": "refunds" before it matches all of its calls');
  });

  it('reports every problem with line and path, and ends with 5', async () => {
    const { code, out, err } = await run('policy', 'check', inFolder('bad.yaml'));
    expect(code).toBe(5);
    expect(out).toContain('bad.yaml:4: rules.0.when: the expression cannot be used: ');
    expect(out).toContain('bad.yaml:5: rules.0.then.require.people: is not a key of this file');
    expect(err).toContain('The file has 2 problems.');
  });

  it('has the same for programs', async () => {
    const fine = JSON.parse((await run('policy', 'check', inFolder('good.yaml'), '--json')).out) as object;
    expect(fine).toMatchObject({ problems: [], warnings: [{ line: 5, path: 'rules.2' }], rules: 3, tenant: 'default' });
    const { out, err } = await run('policy', 'check', inFolder('bad.yaml'), '--json');
    expect(JSON.parse(out)).toMatchObject({ problems: [{ line: 4, path: 'rules.0.when' }, { line: 5 }] });
    expect(JSON.parse(err)).toMatchObject({ code: 'invalid-policy-file' });
  });

  it('ends with 6 when there is no such file', async () => {
    expect(await run('policy', 'check', inFolder('none.yaml'))).toMatchObject({
      code: 6,
      err: expect.stringContaining('cannot be read'),
    });
  });
});

describe('countersign policy explain', () => {
  it('has the verdict on a call, and what each rule says of it', async () => {
    const call = '{"toolName":"refund","arguments":{"amount":60}}';
    const { code, out } = await run('policy', 'explain', '--file', inFolder('good.yaml'), '--call', call);
    expect(code).toBe(0);
    expect(out).toContain('no       small: the tool matches "refund"; its expression is false (cost 1)');
    expect(out).toContain('matches  refunds: the tool matches "refund*"');
    expect(out).toContain('Verdict: require, by refunds');
    expect(out).toContain('Needs: 1 approver of ops');
  });

  it('refuses what is no call', async () => {
    const { code, err } = await run('policy', 'explain', '--file', inFolder('good.yaml'), '--call', '{"tool":"x"}');
    expect(code).toBe(2);
    expect(err).toContain('--call is not a call: toolName');
  });

  it('asks the server when it is given no file', async () => {
    const { code } = await createCliRun({ COUNTERSIGN_URL: 'http://127.0.0.1:9', COUNTERSIGN_TOKEN: 'x' })(
      ...['policy', 'explain', '--call', '{"toolName":"refund"}'],
    );
    expect(code).toBe(3);
  });
});

describe('countersign policy test', () => {
  it('says which cases failed and why, and ends with 5', async () => {
    const { code, out } = await run('policy', 'test', inFolder('good.yaml'), inFolder('cases.yaml'));
    expect(code).toBe(5);
    expect(out).toContain('FAILED  refund {"amount":5}');
    expect(out).toContain('expected outcome: block; got allow, by small');
    expect(out).toContain('1 passed, 1 failed');
  });
});
