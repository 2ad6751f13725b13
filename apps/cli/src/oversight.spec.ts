import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { OversightFigures, OversightReport } from '@countersign/contracts';
import { createCliRun } from './testing/cli-run.js';
import type { CliRun } from './testing/cli-run.js';
import { knownToken, startContractServer } from './testing/contract-server.js';
import type { ContractServer } from './testing/contract-server.js';

const figures: OversightFigures = {
  ...{
    decisions: 8,
    approvals: 6,
    edits: 0,
    denials: 2,
    answers: 0,
    rejectionRate: 0.25,
    medianMs: 1_500,
    p90Ms: 300_000,
  },
  ...{ fastApprovals: 3, onBehalfOf: 0, withdrawn: 0, reveals: 0, requests: 0, expiries: 0, escalations: 0 },
  ...{ reminders: 0, cancellations: 0, automatic: 0 },
};
const none = { ...figures, decisions: 0, rejectionRate: null, medianMs: null, p90Ms: null, fastApprovals: 0 };
const report: OversightReport = {
  ...{ by: 'approver', from: '2026-11-01T00:00:00.000Z', to: '2026-12-01T00:00:00.000Z', scope: 'tenant' },
  fast: { baseMs: 2_000, perCharacterMs: 10, maxMs: 60_000 },
  complete: true,
  rows: [
    { key: 'alice\u001b[31m', ...figures },
    { key: null, ...none, requests: 9, expiries: 1 },
  ],
  others: null,
  fastPositions: [],
  total: { ...figures, requests: 9, expiries: 1 },
};

let server: ContractServer;
let run: CliRun;
beforeEach(async () => {
  server = await startContractServer();
  server.intercept = ({ path }) =>
    path.startsWith('/v1/oversight') ? { status: 200, body: path.includes('csv') ? 'row' : report } : undefined;
  run = createCliRun({ COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: knownToken });
});
afterEach(() => server.close());

describe('countersign oversight', () => {
  it('prints a table that fits a terminal, and what "fast" means', async () => {
    const { code, out } = await run('oversight');
    expect(code).toBe(0);
    const [period, head, alice, noPerson, all, fast] = out.split('\n');
    expect(period).toBe('2026-11-01 00:00:00 UTC to 2026-12-01 00:00:00 UTC');
    expect(head).toMatch(/^approver +decided +denied +median +p90 +fast +asked +expired +escal\.$/);
    expect(alice).toMatch(/^alice⟦U\+001B⟧\[31m +8 +25% +1\.5 s +5 min +3 +- +- +-$/);
    expect(noPerson).toMatch(/^\(no person\) +0 +- +- +- +- +9 +1 +-$/);
    expect(all).toMatch(/^\(all\) +8/);
    expect(fast).toBe(
      'fast: approved in less than 2.0 s and the time to read the arguments. A hint to look closer, not a proof.',
    );
  });

  it('asks for what it was told, times as the server takes them', async () => {
    await run('oversight', '--by', 'rule', '--from', '2026-11-01', '--fast-ms', '500');
    expect(server.requests.at(-1)?.path).toBe('/v1/oversight?by=rule&from=2026-11-01T00%3A00%3A00.000Z&fastMs=500');
  });

  it('says that a report does not cover its whole period', async () => {
    server.intercept = () => ({ status: 200, body: { ...report, complete: false } });
    expect((await run('oversight')).out).toContain('ask for a shorter one');
  });

  it('prints the report as JSON', async () => {
    expect(JSON.parse((await run('oversight', '--json')).out)).toEqual(report);
  });

  it.each([[['--by', 'agent']], [['--from', 'yesterday']], [['--fast-ms', 'x']]])('refuses %j', async (args) => {
    expect((await run('oversight', ...args)).code).toBe(2);
    expect(server.requests).toEqual([]);
  });
});
