import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { fireDue } from '@countersign/commands';
import type { OpenRunView, ToolCallView } from '@countersign/contracts';
import { createApi } from '../testing/api.js';
import type { Api } from '../testing/api.js';
import { openWorld } from '../testing/world.js';
import type { World } from '../testing/world.js';

let world: World;
let api: Api;
beforeAll(async () => {
  world = await openWorld();
  api = createApi(world);
});
afterAll(() => world.close());

interface CallPage {
  readonly calls: readonly ToolCallView[];
  readonly nextCursor: string | null;
  readonly position: number;
}

const request = (runId: string, as: string, ...names: readonly string[]) =>
  api.send<{ calls: ToolCallView[] }>('POST', '/v1/tool-calls', {
    as,
    body: { runId, calls: names.map((name) => ({ toolCallId: name, toolName: name, arguments: { password: 'p' } })) },
  });
const list = (query: string, as = 'ann') => api.send<CallPage>('GET', `/v1/tool-calls?${query}`, { as });
const runs = (as: string, query = '') =>
  api.send<{ runs: OpenRunView[]; nextCursor: string | null }>('GET', `/v1/runs?${query}`, { as });
const namesOf = ({ body }: { readonly body: CallPage }): string[] => body.calls.map(({ toolName }) => toolName);

async function becomeUnknown(callId: string): Promise<void> {
  const body = { resolverId: 'w', leaseMs: 1 };
  await api.send('POST', `/v1/tool-calls/${callId}/claim`, { as: 'worker', body });
  await new Promise((resolve) => setTimeout(resolve, 5));
  await fireDue(world.commands, 'default', callId);
}

describe('the list of calls', () => {
  it('is newest first, by every filter, page by page, and shows its position', async () => {
    await request('filtered', 'agent', 'one', 'two', 'three');
    const first = await list('runId=filtered&limit=2');
    expect(namesOf(first)).toEqual(['three', 'two']);
    expect(first.body.position).toBe(world.readModel.checkpoint());
    await request('filtered', 'agent', 'four');
    expect(namesOf(await list(`runId=filtered&limit=2&cursor=${first.body.nextCursor ?? ''}`))).toEqual(['one']);
    expect(namesOf(await list('runId=filtered&order=oldest&limit=1'))).toEqual(['one']);
    expect(namesOf(await list('runId=filtered&state=allowed,denied&toolName=two&agentId=agent'))).toEqual(['two']);
    expect(namesOf(await list('runId=filtered&requestedBy=agent-2'))).toEqual([]);
    expect(namesOf(await list('runId=filtered&since=2099-01-01T00:00:00Z'))).toEqual([]);
    expect(await list('cursor=nonsense')).toMatchObject({ status: 400, body: { errors: [{ path: 'cursor' }] } });
  });

  it('finds the calls whose outcome is unknown, which are counted for the metrics', async () => {
    const { body } = await request('lost', 'agent', 'pay');
    await becomeUnknown(body.calls[0]?.callId ?? '');
    expect(namesOf(await list('state=unknown'))).toEqual(['pay']);
    const metrics = await api.send<string>('GET', '/metrics', { as: null });
    expect(metrics.body).toMatch(/^countersign_unknown_outcomes 1$/m);
  });

  it.each([
    ['state=unknown,running', 'state'],
    ['state=', 'state'],
    ['since=yesterday', 'since'],
    ['limit=0', 'limit'],
    ['sort=asc', 'sort'],
  ])('answers %s with 400 and the path', async (query, path) => {
    const answer = await list(query);
    expect(answer).toMatchObject({ status: 400, body: { code: 'invalid-request', errors: [{ path }] } });
  });

  it('shows an agent only the calls of its own principal, under any filter', async () => {
    await request('shared', 'agent', 'mine');
    await request('shared', 'agent2', 'theirs');
    expect(namesOf(await list('runId=shared', 'agent'))).toEqual(['mine']);
    expect(namesOf(await list('runId=shared&requestedBy=agent-2', 'agent'))).toEqual([]);
    for (const as of ['ann', 'worker', 'auditor', 'admin'])
      expect(namesOf(await list('runId=shared', as))).toHaveLength(2);
    expect(namesOf(await list('runId=shared', 'other'))).toEqual([]);
    expect((await list('runId=shared', 'nobody')).status).toBe(403);
  });

  it('masks sensitive values as the other views do', async () => {
    await request('masked', 'agent', 'login');
    const passwordFor = async (as: string) => (await list('runId=masked', as)).body.calls[0]?.arguments['password'];
    expect(await passwordFor('agent')).toBe('p');
    expect(await passwordFor('auditor')).not.toBe('p');
    expect(await passwordFor('ann')).not.toBe('p');
    expect(await passwordFor('worker')).not.toBe('p');
  });

  it('waits for the position that a reader names, and is 409 for one that the log has not given out', async () => {
    const { headers } = await request('read-own', 'agent', 'write');
    const position = { 'countersign-position': headers.get('countersign-position') ?? '' };
    const seen = await api.send<CallPage>('GET', '/v1/tool-calls?runId=read-own', { headers: position });
    expect(namesOf(seen)).toEqual(['write']);
    const far = { 'countersign-position': String((await world.store.head()) + 1000) };
    for (const path of ['/v1/tool-calls', '/v1/runs'])
      expect((await api.send('GET', path, { headers: far })).status).toBe(409);
  });
});

describe('the list of runs', () => {
  it('counts the open calls of each agent and principal in a run', async () => {
    const calls = ['a', 'b'].map((id) => ({ toolCallId: id, toolName: id, arguments: {}, needsApproval: id === 'b' }));
    await api.send('POST', '/v1/tool-calls', { body: { runId: 'counted', calls } });
    await request('counted', 'agent2', 'c');
    const ofRun = async (as: string) =>
      (await runs(as)).body.runs.filter(({ runId }) => runId === 'counted').map(({ runId: _, ...run }) => run);
    const mine = { agentId: 'agent', requestedBy: 'agent', openCalls: 2, pendingApprovals: 1 };
    const theirs = { agentId: 'agent-2', requestedBy: 'agent-2', openCalls: 1, pendingApprovals: 0 };
    expect(await ofRun('ann')).toMatchObject([theirs, mine]);
    expect(await ofRun('agent')).toMatchObject([mine]);
    await api.send('POST', '/v1/runs/counted/cancel', { body: { reason: 'over' } });
    expect(await ofRun('ann')).toMatchObject([theirs]);
  });

  it('has pages and refuses what it does not know', async () => {
    await request('page-1', 'agent', 'x');
    await request('page-2', 'agent', 'x');
    const first = await runs('ann', 'state=open&agentId=agent&limit=1');
    expect(first.body.runs.map(({ runId }) => runId)).toEqual(['page-2']);
    const second = await runs('ann', `agentId=agent&limit=1&cursor=${first.body.nextCursor ?? ''}`);
    expect(second.body.runs.map(({ runId }) => runId)).toEqual(['page-1']);
    expect(await runs('ann', 'state=closed')).toMatchObject({ status: 400, body: { errors: [{ path: 'state' }] } });
  });
});

describe('a cursor of one list', () => {
  it.each([
    ['tool-calls', 'approvals'],
    ['tool-calls', 'grants'],
    ['tool-calls', 'runs'],
    ['approvals', 'tool-calls'],
    ['runs', 'tool-calls'],
  ])('of %s is refused by the list of %s', async (from, to) => {
    const calls = ['a', 'b'].map((id) => ({ toolCallId: id, toolName: id, arguments: {}, needsApproval: true }));
    for (const runId of ['cursor-1', 'cursor-2']) await api.send('POST', '/v1/tool-calls', { body: { runId, calls } });
    const page = await api.send<{ nextCursor: string }>('GET', `/v1/${from}?limit=1`, { as: 'ann' });
    expect(page).toMatchObject({ status: 200, body: { nextCursor: expect.any(String) } });
    const refused = await api.send('GET', `/v1/${to}?cursor=${page.body.nextCursor}`, { as: 'ann' });
    expect(refused).toMatchObject({ status: 400, body: { code: 'invalid-request', errors: [{ path: 'cursor' }] } });
  });
});
