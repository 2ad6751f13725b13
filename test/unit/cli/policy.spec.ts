import { createServer } from 'node:http';
import type { Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createCliRun } from '@countersign/cli/testing';

const folder = mkdtempSync(join(tmpdir(), 'countersign-policy-'));
beforeAll(() => {
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

// A developer's own `data` folder has a tokens file, whose groups would count.
const run = createCliRun({ COUNTERSIGN_DATA: folder });
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

  it('names the lines of problems and warnings in TOML', async () => {
    const toml = (name: string, text: string): string => {
      writeFileSync(inFolder(name), `version = 1\n\n[[rules]]\nid = "a"\n${text}`);
      return inFolder(name);
    };
    const broken = await run('policy', 'check', toml('bad.toml', 'then = { require = { people = 2 } }\n'));
    expect(broken).toMatchObject({ code: 5 });
    expect(broken.out).toContain('bad.toml:5: rules.0.then.require.people: is not a key of this file');
    const late = toml('late.toml', '[rules.then.require]\nexpiresIn = "30m"\nreminders = ["10m", "2h"]\n');
    const { code, out } = await run('policy', 'check', late);
    expect([code, out]).toEqual([
      0,
      expect.stringContaining('late.toml:7: rules.0.then.require.reminders.1: is never'),
    ]);
  });

  it('has the same for programs', async () => {
    const fine = JSON.parse((await run('policy', 'check', inFolder('good.yaml'), '--json')).out) as object;
    expect(fine).toMatchObject({ problems: [], warnings: [{ line: 5, path: 'rules.2' }], rules: 3, tenant: 'default' });
    const { out, err } = await run('policy', 'check', inFolder('bad.yaml'), '--json');
    expect(JSON.parse(out)).toMatchObject({ problems: [{ line: 4, path: 'rules.0.when' }, { line: 5 }] });
    expect(JSON.parse(err)).toMatchObject({ code: 'invalid-policy-file' });
  });

  it('reports a group that no approver has, with line and path, where it knows the tokens file', async () => {
    const tokens = (groups: readonly string[]): string => {
      const file = inFolder(`tokens-${groups.join('-')}.json`);
      writeFileSync(file, JSON.stringify([{ token: 't', principal: 'ann', roles: ['approver'], groups }]));
      return file;
    };
    const check = (...args: string[]) => run('policy', 'check', inFolder('good.yaml'), ...args);
    expect(await check()).toMatchObject({
      code: 0,
      out: expect.stringContaining('are not known here: name the tokens'),
    });
    const { code, out } = await check('--tokens', tokens(['sales']));
    expect(code).toBe(5);
    expect(out).toContain('good.yaml:4: rules.1.then: no person can answer: no approver is in the group ops\n');
    const fine = await check('--tokens', tokens(['ops']), '--json');
    expect([fine.code, JSON.parse(fine.out)]).toMatchObject([0, { areGroupsChecked: true }]);
  });

  it.each([
    ['names no group and asks for one person', '{ id: a, then: { require: {} } }', false],
    ['allows and blocks', '{ id: a, match: { tools: [a] }, then: allow }, { id: b, then: { block: never } }', false],
    ['names a group', '{ id: a, then: { require: { anyOf: [ops] } } }', true],
    ['asks for two people', '{ id: a, then: { require: { quorum: { approve: 2 } } } }', true],
    [
      'has an escalation',
      '{ id: a, then: { require: { onTimeout: escalate, escalation: [{ to: [ops], expiresIn: 5m }] } } }',
      true,
    ],
  ])('asks for the tokens file only where a rule depends on it: one that %s', async (_, rules, isAsked) => {
    const file = inFolder('people.yaml');
    writeFileSync(file, `version: 1\nrules: [${rules}]\n`);
    const { code, out } = await run('policy', 'check', file);
    expect([code, out.includes('--tokens')]).toEqual([0, isAsked]);
  });

  it('finds the tokens file in the data folder', async () => {
    writeFileSync(inFolder('tokens.json'), JSON.stringify([{ token: 't', principal: 'ann', roles: ['approver'] }]));
    const inData = createCliRun({ COUNTERSIGN_DATA: folder });
    const { code, out } = await inData('policy', 'check', inFolder('good.yaml'));
    expect([code, out]).toEqual([5, expect.stringContaining('no approver is in the group ops')]);
  });

  it.each([
    ['is not there', undefined, 6, 'broken-tokens.json. Create it or correct the path.'],
    ['is no list', '{}', 5, 'must be a list'],
  ])('says what is wrong with a tokens file that %s', async (_, content, expected, problem) => {
    const file = inFolder('broken-tokens.json');
    if (content !== undefined) writeFileSync(file, content);
    const { code, err } = await run('policy', 'check', inFolder('good.yaml'), '--tokens', file);
    expect([code, err.replaceAll(/\s+/g, ' ')]).toEqual([expected, expect.stringContaining(problem)]);
  });

  it('ends with 6 when there is no such file', async () => {
    const { code, err } = await run('policy', 'check', inFolder('none.yaml'));
    const problem = `file not found: ${inFolder('none.yaml')}. Create it or correct the path.`;
    // A line may end inside a long path.
    const withoutSpaces = (text: string): string => text.replaceAll(/\s+/g, '');
    expect([code, withoutSpaces(err)]).toEqual([6, expect.stringContaining(withoutSpaces(problem))]);
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

describe('countersign policy backtest', () => {
  const change = (callId: string, ruleId: string) => ({
    ...{ callId, runId: 'r', agentId: 'a', toolName: 'refund', requestedAt: '2026-11-24T10:00:00.000Z' },
    ...{ before: { outcome: 'allow', ruleId: 'default' }, after: { outcome: 'require', ruleId } },
    ...{ differs: ['outcome'], why: [] },
  });
  const changes = Array.from({ length: 12 }, (_, index) => change(`tc_${String(index)}`, 'refunds'));
  const rules = [
    { ruleId: 'small', calls: 0, changed: 0 },
    { ruleId: 'refunds', calls: 1203, changed: 12 },
  ];
  const summary = { calls: 1203, changed: 12, policyVersion: 'sha256:1', rules };
  let lines: readonly object[];
  let asked: unknown;
  let server: Server;
  beforeAll(async () => {
    server = createServer((incoming, response) => {
      let body = '';
      incoming.on('data', (chunk: Buffer) => (body += chunk.toString()));
      incoming.on('end', () => {
        asked = JSON.parse(body);
        response.writeHead(200, { 'content-type': 'application/x-ndjson' });
        response.end(lines.map((line) => `${JSON.stringify(line)}\n`).join(''));
      });
    });
    await new Promise<void>((done) => server.listen(0, '127.0.0.1', done));
  });
  afterAll(() => {
    server.close();
  });

  const backtest = (...options: readonly string[]) => {
    const { port } = server.address() as AddressInfo;
    const env = { COUNTERSIGN_URL: `http://127.0.0.1:${String(port)}`, COUNTERSIGN_TOKEN: 'x' };
    return createCliRun(env)('policy', 'backtest', inFolder('good.yaml'), ...options);
  };

  it('says how many calls would change, and lists them by the rule that judges them now', async () => {
    lines = [...changes, { summary }];
    const { code, out } = await backtest('--from', '2026-11-01');
    expect(code).toBe(0);
    expect(out).toContain('12 of 1,203 calls would be judged differently');
    expect(out).toContain('small: judges no recorded call');
    expect(out).toContain('refunds: judges 1,203, 12 of them differently');
    expect(out).toContain('tc_9 refund: allow by default, now require');
    expect(out).not.toContain('tc_10');
    expect(out).toContain('and 2 more');
    expect(asked).toMatchObject({ content: { version: 1 }, from: '2026-11-01T00:00:00.000Z' });
  });

  it('has every line for programs', async () => {
    lines = [...changes, { summary }];
    const { out } = await backtest('--json');
    expect(out.trim().split('\n')).toHaveLength(13);
  });

  it('fails when the answer ends before its summary', async () => {
    lines = changes;
    expect(await backtest()).toMatchObject({ code: 3, err: expect.stringContaining('before its summary') });
  });
});
