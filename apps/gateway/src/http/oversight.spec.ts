import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { EventView, OversightReport } from '@countersign/contracts';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

let world: World;
let api: Api;
beforeAll(async () => {
  world = await openWorld();
  api = createApi(world);
  await decide('ann', 'approve', { toolName: '=cmd()' });
  await decide('ann', 'deny');
  await decide('bob', 'approve');
  await api.pending();
});
afterAll(() => world.close());

/** Nobody has read this before 42 s are over, so that a slow machine answers fast as well. */
const longToRead = { text: 'x'.repeat(4_000) };
const decide = async (as: string, type: string, call: object = {}): Promise<void> => {
  const { approvalId } = await api.pending({ arguments: longToRead, ...call });
  await api.send('POST', `/v1/approvals/${approvalId}/responses`, { as, body: { decision: { type } } });
};
const report = async (query = '', as = 'auditor') =>
  (await api.send<OversightReport>('GET', `/v1/oversight${query}`, { as })).body;
const keysOf = ({ rows }: OversightReport) => rows.map(({ key, decisions }) => [key, decisions]);

describe('GET /v1/oversight', () => {
  it('reports the last 30 days by approver', async () => {
    const body = await report();
    expect(body).toMatchObject({
      ...{ by: 'approver', scope: 'tenant', complete: true, others: null },
      fast: { baseMs: 2_000, perCharacterMs: 10, maxMs: 60_000 },
      total: { decisions: 3, approvals: 2, denials: 1, fastApprovals: 2, requests: 4 },
    });
    const log = await api.send<string>('GET', '/v1/audit/events?types=ApprovalResponded', { as: 'auditor' });
    const responses = log.body.split('\n').flatMap((line) => (line === '' ? [] : [JSON.parse(line) as EventView]));
    const approvals = responses.filter(({ data }) => (data['decision'] as { type: string }).type === 'approve');
    expect(body.fastPositions).toEqual(approvals.map(({ position }) => position));
    expect(keysOf(body)).toEqual([
      ['ann', 2],
      ['bob', 1],
      [null, 0],
    ]);
    expect(Date.parse(body.to) - Date.parse(body.from)).toBe(30 * 86_400_000);
  });

  it('reports by tool and by rule, and by a threshold of the reader', async () => {
    expect(keysOf(await report('?by=tool'))).toEqual([
      ['delete_file', 2],
      ['=cmd()', 1],
    ]);
    expect((await report('?by=rule&fastMs=0')).total).toMatchObject({ fastApprovals: 0, decisions: 3 });
  });

  it('shows an approver nothing but what they did themselves', async () => {
    const own = await report('?by=tool', 'ann');
    expect(own.scope).toBe('own');
    expect(own.total).toMatchObject({ decisions: 2, requests: 0 });
    expect(keysOf(await report('', 'ann'))).toEqual([['ann', 2]]);
    expect((await report('', 'me')).scope).toBe('tenant');
  });

  it('shows one tenant nothing of another', async () => {
    expect((await report('', 'other')).total).toMatchObject({ decisions: 0, requests: 0 });
  });

  it('counts only the period', async () => {
    expect((await report(`?to=${new Date(Date.now() - 60_000).toISOString()}`)).total.decisions).toBe(0);
    expect((await report(`?from=${new Date(Date.now() - 60_000).toISOString()}`)).total.decisions).toBe(3);
  });

  it('finds a decision of the period on a request of before it', async () => {
    const { approvalId } = await api.pending({ toolName: 'late' });
    const from = new Date().toISOString();
    await api.send('POST', `/v1/approvals/${approvalId}/responses`, {
      as: 'bob',
      body: { decision: { type: 'deny' } },
    });
    const { rows } = await report(`?by=tool&from=${from}`);
    expect(rows.find(({ key }) => key === 'late')).toMatchObject({ decisions: 1, denials: 1 });
  });

  it.each([
    ['?by=agent', 'by'],
    ['?fastMs=-1', 'fastMs'],
    ['?from=yesterday', 'from'],
    ['?from=2026-02-01T00:00:00Z&to=2026-01-01T00:00:00Z', 'from'],
    ['?format=xls', 'format'],
    ['?nonsense=1', 'nonsense'],
  ])('refuses %s and names %s', async (query, path) => {
    const { status, body } = await api.send<{ errors: { path: string }[] }>('GET', `/v1/oversight${query}`, {
      as: 'auditor',
    });
    expect([status, body.errors[0]?.path]).toEqual([400, path]);
  });

  it('is a table for a spreadsheet that runs nothing of it', async () => {
    const { headers, body } = await api.send<string>('GET', '/v1/oversight?by=tool&format=csv', { as: 'auditor' });
    expect(headers.get('content-type')).toBe('text/csv; charset=utf-8');
    const [head = '', ...lines] = body.trim().split('\r\n');
    expect(head.split(',').slice(0, 3)).toEqual(['row', 'tool', 'decisions']);
    expect(lines.map((line) => line.split(',').slice(0, 3))).toContainEqual(['tool', "'=cmd()", '1']);
    expect(head).toContain('medianMs,p90Ms');
  });
});
