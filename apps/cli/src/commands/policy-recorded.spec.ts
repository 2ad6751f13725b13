import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createCliRun } from '../testing/cli-run.js';
import type { CliRun } from '../testing/cli-run.js';
import { knownToken, problem, startContractServer } from '../testing/contract-server.js';
import type { ContractServer } from '../testing/contract-server.js';

let server: ContractServer;
let run: CliRun;
beforeAll(async () => {
  server = await startContractServer();
  run = createCliRun({ COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: knownToken });
});
afterAll(() => server.close());

const answer = (body: object): void => {
  server.intercept = () => ({ status: 200, body });
};

describe('policy shadow', () => {
  it('says how many calls the candidate judged differently, by rule, and lists them', async () => {
    const change = {
      ...{ callId: 'tc_a', runId: 'r', agentId: 'a', toolName: 'pay', requestedAt: '2026-11-22T09:00:00.000Z' },
      ...{ before: { outcome: 'require', ruleId: 'old' }, after: { outcome: 'allow', ruleId: 'small' } },
      ...{ differs: ['outcome'], why: [] },
    };
    const report = {
      ...{ policyVersion: 'sha256:ab', since: '2026-11-22T09:00:00.000Z', complete: true },
      ...{ calls: 1203, changed: 41, changes: [change] },
      rules: [
        { ruleId: 'small', calls: 60, changed: 41 },
        { ruleId: 'never', calls: 0, changed: 0 },
      ],
    };
    answer(report);
    const { code, out } = await run('policy', 'shadow');
    expect(code).toBe(0);
    expect(out).toContain('The candidate sha256:ab judges since 2026-11-22 09:00:00 UTC.');
    expect(out).toContain('41 of 1,203 calls would be judged differently\nsmall: judges 60, 41 of them differently\n');
    expect(out).toContain('  tc_a pay: require by old, now allow\n  and 40 more\nnever: judges no recorded call\n');
    expect(server.requests.at(-1)?.path).toBe('/v1/policy/shadow');
    expect(JSON.parse((await run('policy', 'shadow', '--json')).out)).toEqual(report);
  });

  it('says how many events were left out because they cannot be read', async () => {
    const report = { policyVersion: 'sha256:ab', since: '2026-11-22T09:00:00.000Z', calls: 0, changed: 0 };
    const rest = { rules: [], changes: [], complete: true };
    answer({ ...report, ...rest, unreadable: [12] });
    expect((await run('policy', 'shadow')).out).toContain('1 event cannot be read and is left out, at position 12\n');
    answer({ ...report, ...rest, unreadable: [12, 40] });
    const { out } = await run('policy', 'shadow');
    expect(out).toContain('2 events cannot be read and are left out, the first at position 12\n');
  });

  it('says so when no candidate has judged', async () => {
    answer({ policyVersion: null, since: null, calls: 0, changed: 0, rules: [], changes: [], complete: true });
    expect((await run('policy', 'shadow')).out).toContain('COUNTERSIGN_POLICY_SHADOW');
  });
});

describe('policy versions', () => {
  it('lists the activations, and prints the content of one', async () => {
    const version = { policyVersion: 'sha256:ab', activatedBy: 'operator', activatedAt: '2026-11-22T09:00:00.000Z' };
    answer({ versions: [version], more: true });
    const listed = await run('policy', 'versions', '--limit', '1');
    expect(listed.out).toMatch(/^sha256:ab\n {2}activated .* by operator, 2026-11-22 09:00:00 UTC\n$/);
    expect(listed.err).toContain('There are more');
    expect(server.requests.at(-1)?.path).toBe('/v1/policy/versions?limit=1');
    answer({ versions: [{ ...version, content: { version: 1 } }], more: false });
    expect((await run('policy', 'versions', 'sha256:ab')).out).toContain('{\n  "version": 1\n}\n');
    expect(server.requests.at(-1)?.path).toBe('/v1/policy/versions?policyVersion=sha256%3Aab&limit=100');
    answer({ versions: [], more: false });
    expect((await run('policy', 'versions')).out).toContain('the built-in policy judges');
  });
});

describe('policy suggest', () => {
  const suggestion = {
    ...{ toolName: 'refund', agentId: 'a', rule: { id: 's', then: 'allow' }, yaml: '- id: "s"\n  then: "allow"\n' },
    evidence: {
      ...{ decisions: 1041, people: 2, days: 1, medianToDecideMs: 120_000 },
      ...{ since: '2026-11-01T00:00:00.000Z', until: '2026-11-02T00:00:00.000Z' },
    },
    backtest: { asked: 41, allowed: 37 },
  };
  const found = { decisionsMin: 30, since: '2026-10-01T00:00:00.000Z', calls: 5000, complete: true };

  it('prints rules that can be copied, with what speaks for them', async () => {
    answer({ ...found, suggestions: [suggestion] });
    const { code, out } = await run('policy', 'suggest', '--min', '30', '--since', '2026-10-01');
    expect(code).toBe(0);
    expect(out).toContain('# approved unchanged 1,041 times by 2 people on 1 day since 2026-11-01 00:00:00 UTC, ');
    expect(out).toContain(
      'it would have let 37 of 41 through\n- id: "s"\n  then: "allow"\n\nNone of this is applied: 5,000',
    );
    const query = new URL(server.requests.at(-1)?.path ?? '', server.url).searchParams;
    expect(Object.fromEntries(query)).toEqual({ decisionsMin: '30', since: '2026-10-01T00:00:00.000Z' });
    answer({ ...found, suggestions: [], complete: false });
    expect((await run('policy', 'suggest')).out).toMatch(
      /^No rule is suggested: 5,000 calls .*\nThere were more calls/,
    );
  });
});

describe('policy check --recorded', () => {
  const folder = mkdtempSync(join(tmpdir(), 'countersign-check-'));
  const file = join(folder, 'p.yaml');
  writeFileSync(
    file,
    'version: 1\nrules: [{ id: used, match: { tools: [a] }, then: allow }, { id: idle, then: allow }]\n',
  );
  afterAll(() => {
    rmSync(folder, { recursive: true });
  });
  const summary = {
    ...{ calls: 3, changed: 0, policyVersion: 'sha256:ab' },
    rules: [
      { ruleId: 'used', calls: 3, changed: 0 },
      { ruleId: 'idle', calls: 0, changed: 0 },
    ],
  };

  it('names the rules that judge no recorded call', async () => {
    answer({ summary });
    const { code, out } = await run('policy', 'check', file, '--recorded');
    expect(code).toBe(0);
    expect(out).toContain('is fine: 2 rules');
    expect(out).toContain('no recorded call was judged by "idle"\n');
    expect(out).not.toContain('"used"');
    expect(JSON.parse((await run('policy', 'check', file, '--recorded', '--json')).out)).toMatchObject({
      unmatched: ['idle'],
    });
  });

  it('reads an answer with a line separator of Unicode in a name', async () => {
    answer({ summary: { ...summary, policyVersion: 'a\u2028b' } });
    const { out } = await run('policy', 'check', file, '--recorded', '--json');
    expect(JSON.parse(out)).toMatchObject({ unmatched: ['idle'] });
  });

  it('checks the file all the same where the server cannot be asked, and says that it did not look', async () => {
    server.intercept = () => problem(403, 'forbidden', 'this needs the role auditor');
    const { code, out } = await run('policy', 'check', file, '--recorded');
    expect([code, out]).toEqual([0, expect.stringContaining('not looked at: this needs the role auditor')]);
    const away = createCliRun({ COUNTERSIGN_URL: 'http://127.0.0.1:9', COUNTERSIGN_TOKEN: knownToken });
    const answered = await away('policy', 'check', file, '--recorded', '--json');
    expect(JSON.parse(answered.out)).toMatchObject({ problems: [], unmatched: null });
    expect((await run('policy', 'check', file)).out).not.toContain('recorded');
  });
});
