import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { createCliRun } from '../testing/cli-run.js';
import type { CliRun } from '../testing/cli-run.js';
import { knownToken, startContractServer } from '../testing/contract-server.js';
import type { ContractServer } from '../testing/contract-server.js';
import { approvalOf, callOf } from '../testing/fixtures.js';

let server: ContractServer;
let run: CliRun;
beforeAll(async () => {
  server = await startContractServer();
  run = createCliRun({ COUNTERSIGN_URL: server.url, COUNTERSIGN_TOKEN: knownToken });
});
afterAll(() => server.close());
beforeEach(() => {
  server.requests.length = 0;
});

const call = callOf(approvalOf(), { state: 'unknown', approval: null });
const openRun = {
  ...{ runId: 'run-42', agentId: 'billing-agent', requestedBy: 'agent', openCalls: 2, pendingApprovals: 1 },
  lastEventAt: '2026-11-22T09:58:00.000Z',
};

describe('calls', () => {
  it('lists calls by every filter, page by page', async () => {
    server.intercept = ({ path }) => {
      const isFirst = !path.includes('cursor=');
      return { status: 200, body: { calls: [call], nextCursor: isFirst ? 'next' : null, position: 9 } };
    };
    const filters = ['--tool', 'refund', '--run', 'r', '--agent', 'a', '--requested-by', 'p', '--since', '2026-11-01'];
    const { code, out } = await run('calls', '--state', 'unknown,failed', ...filters);
    expect(code).toBe(0);
    expect(out).toContain('unknown           delete_file {"path":"/etc/hosts"}\n  tc_aaa');
    const [first, second] = server.requests.map(({ path }) => new URL(path, server.url));
    expect(Object.fromEntries(first?.searchParams ?? [])).toEqual({
      ...{ state: 'unknown,failed', toolName: 'refund', runId: 'r', agentId: 'a', requestedBy: 'p' },
      ...{ since: '2026-11-01T00:00:00.000Z', limit: '100' },
    });
    expect(second?.searchParams.get('cursor')).toBe('next');
    expect(JSON.parse((await run('calls', '--limit', '1', '--json')).out)).toEqual(call);
  });

  it('says when there are none, and when there are more', async () => {
    server.intercept = () => ({ status: 200, body: { calls: [], nextCursor: null, position: 9 } });
    expect((await run('calls')).out).toBe('No call matches.\n');
    server.intercept = () => ({ status: 200, body: { calls: [call], nextCursor: 'next', position: 9 } });
    expect((await run('calls', '--limit', '1')).err).toContain('There are more: raise --limit.');
  });

  it('is a usage error for a time or a limit that is none', async () => {
    expect((await run('calls', '--since', 'yesterday')).code).toBe(2);
    expect((await run('calls', '--limit', '0')).code).toBe(2);
    expect(server.requests).toEqual([]);
  });
});

describe('runs', () => {
  it('lists the runs that have open calls', async () => {
    server.intercept = () => ({ status: 200, body: { runs: [openRun], nextCursor: null } });
    const { code, out } = await run('runs', '--agent', 'billing-agent');
    expect(code).toBe(0);
    expect(out).toContain('run-42\n  2 open calls, 1 pending approval, last event ');
    expect(server.requests[0]?.path).toBe('/v1/runs?agentId=billing-agent&limit=100');
    expect(JSON.parse((await run('runs', '--json')).out)).toEqual(openRun);
  });
});
