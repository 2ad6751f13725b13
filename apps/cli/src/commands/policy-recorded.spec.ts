import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { createCliRun } from '../testing/cli-run.js';
import type { CliRun } from '../testing/cli-run.js';
import { knownToken, startContractServer } from '../testing/contract-server.js';
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
    expect(out).toContain('The candidate sha256:ab judges since 2026-11-22T09:00:00.000Z.');
    expect(out).toContain('41 of 1,203 calls would be judged differently\nsmall: judges 60, 41 of them differently\n');
    expect(out).toContain('  tc_a pay: require by old, now allow\n  and 40 more\nnever: judges no recorded call\n');
    expect(server.requests.at(-1)?.path).toBe('/v1/policy/shadow');
    expect(JSON.parse((await run('policy', 'shadow', '--json')).out)).toEqual(report);
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
    expect(listed.out).toMatch(/^sha256:ab\n {2}activated .* by operator, 2026-11-22T09:00:00.000Z\n$/);
    expect(listed.err).toContain('There are more');
    expect(server.requests.at(-1)?.path).toBe('/v1/policy/versions?limit=1');
    answer({ versions: [{ ...version, content: { version: 1 } }], more: false });
    expect((await run('policy', 'versions', 'sha256:ab')).out).toContain('{\n  "version": 1\n}\n');
    expect(server.requests.at(-1)?.path).toBe('/v1/policy/versions?policyVersion=sha256%3Aab&limit=100');
    answer({ versions: [], more: false });
    expect((await run('policy', 'versions')).out).toContain('the built-in policy judges');
  });
});
