import { describe, expect, it } from '@jest/globals';
import { bash, decided, open, post } from './testing/hook-place.js';

const shell = (command: string): object => ({
  sessionId: 's1',
  cwd: '/work',
  toolName: 'bash',
  toolArgs: { command },
});

describe('a call of an agent without call ids', () => {
  it('is asked for again after an equal one was denied, although another call was edited into it', async () => {
    const { before, after, countersign, asked } = open('copilot');
    const ran = { ...shell('B'), toolResult: 'ok' };
    await before(shell('B'), { gate: 'none' });
    await after(ran);
    await before(shell('B'));
    const denied = asked.at(-1) ?? '';
    countersign.deny(denied);
    await before(shell('B'));
    await before(shell('A'));
    countersign.edit(asked.at(-1) ?? '', { command: 'B' });
    await before(shell('A'));
    await after(ran);
    expect((await before(shell('B'))).stdout).toContain('pending: approval');
    expect([denied.slice(-2), asked.at(-1)?.slice(-2)]).toEqual(['_2', '_3']);
  });
});

describe('a call of an agent with call ids', () => {
  it.each(['awaiting_approval', 'approved'] as const)('is %s still the same after 100 other calls', async (state) => {
    const { before, countersign, asked } = open();
    await before(bash('t1'));
    if (state === 'approved') countersign.approve('t1');
    for (let n = 0; n < 101; n += 1) await before(bash(`other-${n}`, `echo ${n}`), { gate: 'none' });
    const expected = state === 'approved' ? { permissionDecision: 'allow' } : { permissionDecision: 'deny' };
    expect(decided(await before(bash('t2')))).toMatchObject(expected);
    expect(asked).not.toContain('t2');
  });
});

describe('a call in another folder', () => {
  const inFolder = (cwd: string, id: string): object => ({ ...bash(id, './deploy.sh'), cwd });

  it('is another call, which people are asked about, also while the first one waits and after its approval', async () => {
    const { before, countersign, asked } = open();
    await before(inFolder('/work/staging', 't1'));
    expect(decided(await before(inFolder('/work/production', 't2')))).toMatchObject({ permissionDecision: 'deny' });
    countersign.approve('t1');
    expect(decided(await before(inFolder('/work/production', 't3')))).toMatchObject({ permissionDecision: 'deny' });
    expect(asked).toEqual(['t1', 't2', 't2']);
    expect(countersign.callOf('t2')).toMatchObject({
      state: 'awaiting_approval',
      approval: { labels: { cwd: '/work/production' } },
    });
    expect(decided(await before(inFolder('/work/staging', 't4')))).toMatchObject({ permissionDecision: 'allow' });
  });

  it('is denied under the id of the approved one', async () => {
    const { before, countersign } = open();
    await before(inFolder('/work/staging', 't1'));
    countersign.approve('t1');
    const answer = await before(inFolder('/work/production', 't1'));
    expect([decided(answer)['permissionDecision'], countersign.callOf('t1').state]).toEqual(['deny', 'approved']);
  });

  it('is another call of an agent without call ids, and has a report of its own', async () => {
    const { before, after, countersign, asked } = open('copilot');
    for (const cwd of ['/a', '/b']) await before({ ...shell('make'), cwd }, { gate: 'none' });
    await after({ ...shell('make'), cwd: '/a', toolResult: 'ok' });
    expect(asked.map((id) => countersign.callOf(id).state)).toEqual(['succeeded', 'executing']);
  });
});

describe('a call in a folder that cannot be recorded', () => {
  it.each([
    ['missing', undefined],
    ['not a text', 1],
    ['empty', ''],
    ['relative', 'work'],
    ['half of a character', '/\ud800'],
    ['too long', `/work/production/${'a/'.repeat(256)}`],
  ])('is denied, and no person is asked: %s', async (_name, cwd) => {
    const { before, asked } = open();
    const answer = await before({ ...bash('t1'), cwd }, { gate: 'none' });
    expect(answer).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('folder') });
    expect(decided(answer)).toMatchObject({ permissionDecision: 'deny' });
    expect(asked).toEqual([]);
  });

  it('has its report, because the tool ran in another folder', async () => {
    const { before, after, countersign } = open();
    await before(bash('t1'), { gate: 'none' });
    await after(post('t1', { cwd: `/${'a'.repeat(600)}`, tool_response: 'ok' }));
    expect(countersign.callOf('t1').state).toBe('succeeded');
  });
});

describe('a tool of an MCP server', () => {
  const onServer = (context: object): object => ({
    ...{ session_id: 's1', cwd: '/work', hook_event_name: 'BeforeTool', tool_name: 'write_row' },
    ...{ tool_input: { value: 1 }, mcp_context: { tool_name: 'write_row', ...context } },
  });
  const staging = { server_name: 'staging', command: 'npx', args: ['staging-db'] };
  const decisionOf = ({ stdout }: { readonly stdout: string }): unknown =>
    (JSON.parse(stdout) as { readonly decision: unknown }).decision;

  it.each([
    ['of another name', { ...staging, server_name: 'production' }],
    ['of another command', { ...staging, args: ['prod-db'] }],
    ['of another address', { server_name: 'staging', url: 'https://db.test/mcp' }],
    ['without a name', {}],
  ])('is another one than the tool of a server %s', async (_what, other) => {
    const { before, countersign, asked } = open('gemini');
    await before(onServer(staging));
    const first = asked.at(-1) ?? '';
    const mcpEndpoint = expect.stringMatching(/^mcp-server_[0-9a-f]{32}$/) as unknown;
    expect(countersign.callOf(first).approval?.labels).toEqual({ cwd: '/work', mcpServer: 'staging', mcpEndpoint });
    countersign.approve(first);
    expect(decisionOf(await before(onServer(other)))).toBe('deny');
    expect(countersign.callOf(asked.at(-1) ?? '').state).toBe('awaiting_approval');
    const { mcp_context: _context, ...unnamed } = onServer(staging) as { mcp_context: object };
    expect(decisionOf(await before(unnamed))).toBe('deny');
    expect(decisionOf(await before(onServer(staging)))).toBe('allow');
  });

  it('is reported for its own server', async () => {
    const { before, after, countersign, asked } = open('gemini');
    const ran = { ...onServer(staging), hook_event_name: 'AfterTool', tool_response: { llmContent: 'ok' } };
    await before(onServer(staging), { gate: 'none' });
    await after({ ...ran, mcp_context: { ...staging, server_name: 'production' } });
    expect(countersign.callOf(asked[0] ?? '').state).toBe('executing');
    await after(ran);
    expect(countersign.callOf(asked[0] ?? '').state).toBe('succeeded');
  });
});
