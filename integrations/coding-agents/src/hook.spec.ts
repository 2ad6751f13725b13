import { describe, expect, it } from '@jest/globals';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { HookAnswer } from './agent.js';
import { codingAgents, type AgentName } from './agents/agents.js';
import { beforeTool } from './hook.js';
import type { HookOptions } from './options.js';
import { bash, decided, open, post } from './testing/hook-place.js';
import { until } from './testing/until.js';

const deny = (reason: RegExp): object => ({
  permissionDecision: 'deny',
  permissionDecisionReason: expect.stringMatching(reason),
});

describe('the hook before a tool', () => {
  it("asks no person while the resolver's token may not claim, and names the token that it needs", async () => {
    const { before, countersign, asked } = open();
    countersign.setMayClaim(false);
    const refused = await before(bash('toolu_1'));
    expect(decided(refused)).toMatchObject(
      deny(/did not run\. Forbidden: forbidden\. .*a resolver in COUNTERSIGN_RESOLVER_TOKEN/),
    );
    expect(refused.exitCode).toBe(2);
    expect(asked).toEqual([]);
  });

  it('allows a read-only tool, and records it', async () => {
    const { before, countersign } = open();
    const read = { ...bash('t1'), tool_name: 'Read', tool_input: { file_path: '/a' } };
    expect(decided(await before(read))).toMatchObject({ permissionDecision: 'allow' });
    expect(countersign.callOf('t1')).toMatchObject({ state: 'executing', runId: 's1', toolName: 'Read' });
  });

  it.each<readonly [AgentName, object, string]>([
    ['opencode', { sessionID: 's1', tool: 'grep', callID: 't1', args: {} }, 'a plugin can replace it'],
    ['copilot', { sessionId: 's1', toolName: 'view', toolArgs: {} }, 'an extension can replace it'],
    ['claude-code', { ...bash('t1'), tool_name: 'Skill' }, 'a skill can run commands'],
    ['codex', { ...bash('t1'), tool_name: 'read_mcp_resource' }, 'a server decides what it does'],
    ['gemini', { session_id: 's1', tool_name: 'glob', tool_input: {}, mcp_context: {} }, 'it is the tool of a server'],
  ])('asks a person about the tool of %s %j, because %s', async (name, call) => {
    const { before, asked, countersign } = open(name);
    expect((await before({ cwd: '/w', ...call })).stdout).toContain('pending: approval');
    expect(countersign.callOf(asked[0] ?? '').state).toBe('awaiting_approval');
  });

  it('asks no person about a tool that the operator takes for reading', async () => {
    const { before } = open('opencode');
    const call = { sessionID: 's1', cwd: '/w', tool: 'grep', callID: 't1', args: {} };
    expect(JSON.parse((await before(call, { readOnly: ['gr*'] })).stdout)).toEqual({ decision: 'allow' });
  });

  it('asks a person for a read-only tool with the gate all, and for none with the gate none', async () => {
    const { before } = open();
    const read = { ...bash('t1'), tool_name: 'Read' };
    expect(decided(await before(read, { gate: 'all' }))).toMatchObject(deny(/^pending: approval/));
    expect(decided(await before(bash('t2'), { gate: 'none' }))).toMatchObject({ permissionDecision: 'allow' });
  });

  it('passes an ungated tool without asking the ledger', async () => {
    const { before, countersign } = open();
    countersign.setAway(true);
    expect(await before(bash('t1'), { ungated: ['Ba*'] })).toEqual({ stdout: '', stderr: '', exitCode: 0 });
  });

  it('denies as pending after the hold, and finds the same approval when the agent calls again', async () => {
    const { before, countersign } = open();
    expect(decided(await before(bash('t1')))).toMatchObject(deny(/^pending: approval/));
    expect(decided(await before(bash('t2')))).toMatchObject(deny(/^pending: approval/));
    countersign.approve('t1');
    expect(decided(await before(bash('t3')))).toMatchObject({ permissionDecision: 'allow' });
    expect(() => countersign.callOf('t3')).toThrow();
  });

  it('allows a held call when a person approves', async () => {
    const { before, countersign } = open();
    const answer = before(bash('t1'), { holdMs: 20_000 });
    await until(() => countersign.callOf('t1').state === 'awaiting_approval');
    countersign.approve('t1', { instruction: 'then run the tests' });
    expect(decided(await answer)).toMatchObject({
      permissionDecision: 'allow',
      additionalContext: 'Instruction of the approver: then run the tests',
    });
  });

  it('gives the agent the arguments of an edit', async () => {
    const { before, countersign } = open();
    await before(bash('t1'));
    countersign.edit('t1', { command: 'make deploy-staging' });
    expect(decided(await before(bash('t1')))).toMatchObject({
      permissionDecision: 'allow',
      updatedInput: { command: 'make deploy-staging' },
    });
  });

  it('denies with the answer of a person in place of the tool', async () => {
    const { before, countersign } = open();
    await before(bash('t1'));
    countersign.answer('t1', 'deployed by hand');
    expect(decided(await before(bash('t2')))).toMatchObject(deny(/^deployed by hand\nA person gave this output/));
  });

  it('tells a denial once, and then asks about an equal call again', async () => {
    const { before, countersign } = open();
    await before(bash('t1'));
    countersign.deny('t1', { reason: 'not on Friday' });
    expect(decided(await before(bash('t2')))).toMatchObject(deny(/not on Friday/));
    expect(decided(await before(bash('t3')))).toMatchObject(deny(/^pending: approval/));
    expect(countersign.callOf('t3').state).toBe('awaiting_approval');
  });

  it('never allows the same call twice', async () => {
    const { before } = open();
    await before(bash('t1'), { gate: 'none' });
    expect(decided(await before(bash('t1'), { gate: 'none' }))).toMatchObject(
      deny(/already allowed once .*may have run/),
    );
  });

  it('says so when the id belongs to a call with other arguments', async () => {
    const { before } = open();
    await before(bash('t1'), { gate: 'none' });
    const answer = decided(await before(bash('t1', 'rm -r /'), { gate: 'none' }));
    expect(answer).toMatchObject(deny(/^The tool did not run.*other arguments.* Correct the call/));
  });

  it('denies when both processes of one call may claim it, except for one', async () => {
    const { before } = open();
    const answers = await Promise.all([1, 2, 3].map(() => before(bash('t1'), { gate: 'none' })));
    const decisions = answers.map((answer) => decided(answer)['permissionDecision']);
    expect(decisions.toSorted()).toEqual(['allow', 'deny', 'deny']);
    expect(answers.map(({ exitCode }) => exitCode)).toEqual([0, 0, 0]);
  });

  it('denies a claim for other arguments than those that were approved', async () => {
    const { before, countersign } = open();
    const forged: typeof fetch = async (input, init) => {
      const answer = await countersign.fetch(input, init);
      if (!answer.ok || !requestUrl(input).endsWith('/claim')) return answer;
      return Response.json({ ...((await answer.json()) as object), arguments: { command: 'rm -r /' } });
    };
    const answer = await before(bash('t1'), { gate: 'none', fetch: forged });
    expect(decided(answer)).toMatchObject(deny(/not those of the approved digest/));
    expect(countersign.callOf('t1').state).toBe('failed');
  });

  it('takes a call after the end of an equal one for a new call', async () => {
    const { before, after, countersign } = open();
    await before(bash('t1'), { gate: 'none' });
    await after(post('t1', { tool_response: { stdout: 'ok' } }));
    expect(decided(await before(bash('t2')))).toMatchObject(deny(/^pending/));
    expect(countersign.callOf('t2').state).toBe('awaiting_approval');
  });
});

describe('deferring', () => {
  it('defers the oldest call that waits, and denies the others of the step', async () => {
    const { before, countersign } = open();
    expect(decided(await before(bash('t1'), { defer: true }))).toMatchObject({ permissionDecision: 'defer' });
    expect(decided(await before(bash('t2', 'rm x'), { defer: true }))).toMatchObject(deny(/^pending/));
    countersign.approve('t1');
    expect(decided(await before(bash('t1'), { defer: true }))).toMatchObject({ permissionDecision: 'allow' });
  });
});

describe('a failure', () => {
  it.each(['claude-code', 'codex'] as const)('blocks the tool of %s while Countersign is away', async (name) => {
    const { before, countersign } = open(name);
    countersign.setAway(true);
    const answer = await before(bash('t1'));
    expect(answer).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('Start Countersign') });
    expect(decided(answer)).toMatchObject(deny(/^The tool did not run/));
  });

  it.each([
    ['[]', 'is not a JSON object'],
    ['x', 'is not JSON'],
    ['{"session_id":"s"}', 'has no "tool_name"'],
    [
      '{"session_id":"s","tool_name":"Bash","tool_input":[1]}',
      '"tool_input" in the input of the hook is not an object',
    ],
  ])('blocks the tool for the input %s', async (text, why) => {
    const run = {
      agent: codingAgents['claude-code'],
      input: Promise.resolve(Buffer.from(text)),
      marks: new Map<string, string>(),
    };
    const answer = await beforeTool(run, () => ({ holdMs: 0 }) as HookOptions);
    expect(answer).toMatchObject({ exitCode: 2, stderr: expect.stringContaining(why) });
  });

  it('blocks the tool for half a character in the arguments, and says what to do', async () => {
    const { before, asked } = open();
    const answer = decided(await before(bash('t1', '\ud800')));
    expect(answer).toMatchObject(deny(/lone surrogate.* Correct the call, and make it again\.$/));
    expect(asked).toEqual([]);
  });

  it('blocks the tool when the settings are wrong', async () => {
    const input = Promise.reject(new Error('closed'));
    const run = { agent: codingAgents.codex, input, marks: new Map<string, string>() };
    const answer = await beforeTool(run, () => Promise.reject(new Error('there is no token')));
    expect(answer).toMatchObject({ exitCode: 2, stderr: 'The tool did not run. There is no token' });
  });

  it('blocks the tool after its own deadline, although the ledger never answers', async () => {
    const { before } = open();
    const silent: typeof fetch = (_input, init) =>
      new Promise((_resolve, reject) => {
        init?.signal?.addEventListener('abort', () => {
          reject(new Error('aborted'));
        });
      });
    const answer = await before(bash('t1'), { fetch: silent, graceMs: 20 });
    expect(answer).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('did not answer in 20 ms') });
  });

  it('names the status of a server that asks to wait longer than the hook can', async () => {
    const { before } = open();
    const busy: typeof fetch = () =>
      Promise.resolve(new Response('', { status: 503, headers: { 'retry-after': '60' } }));
    const { stderr } = await before(bash('t1'), { fetch: busy, graceMs: 200 });
    expect(stderr).toContain('Countersign did not answer in 200 ms: its last status was 503');
  });

  it('blocks the tool with one plain line when the server speaks no TLS', async () => {
    const { before } = open();
    const server = createServer().listen(0, '127.0.0.1');
    await new Promise((resolve) => server.once('listening', resolve));
    const url = `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
    const { stderr } = await before(bash('t1'), { url, fetch, attempts: 1 });
    server.close();
    expect(stderr).toMatch(
      /^The tool did not run\. No response from https:\/\/127\.0\.0\.1:\d+: TLS: [a-z ]+\. Start /,
    );
  });

  it('blocks the tool when its process is asked to stop', async () => {
    const { before } = open();
    const stop = new AbortController();
    const answer = before(bash('t1'), { holdMs: 20_000 }, stop.signal);
    stop.abort();
    expect(await answer).toMatchObject({ exitCode: 2, stderr: expect.stringContaining('The hook was stopped') });
  });

  it('warns once in a session that the agent itself lets a tool run when its hook fails', async () => {
    const { before } = open();
    const bypass = { permission_mode: 'bypassPermissions' };
    expect((await before(bash('t1', 'a', bypass))).stderr).toContain('Set "onFailure": "block"');
    expect((await before(bash('t2', 'b', bypass))).stderr).toBe('');
  });
});

describe('the forms of the agents', () => {
  it('says nothing to Codex for an approved call, because Codex takes a plain allow for a fault', async () => {
    const { before } = open('codex');
    expect(await before(bash('t1'), { gate: 'none' })).toEqual({ stdout: '', stderr: '', exitCode: 0 });
  });
});

describe('an agent without call ids', () => {
  const shell = (args: object = { command: 'make deploy', dir: '/' }): object => ({
    session_id: 's1',
    cwd: '/w',
    tool_name: 'run_shell_command',
    tool_input: args,
  });
  const read = ({ stdout }: HookAnswer): unknown => JSON.parse(stdout);

  it('finds the approval of a pending call again, and takes a call after its end for a new one', async () => {
    const { before, after, countersign, asked } = open('gemini');
    const first = read(await before(shell()));
    expect(read(await before(shell()))).toEqual(first);
    countersign.approve(asked[0] ?? '');
    expect(read(await before(shell()))).toEqual({ decision: 'allow' });
    expect(read(await before(shell()))).toMatchObject({ decision: 'deny', reason: expect.stringContaining('already') });
    await after({ ...shell(), tool_response: { llmContent: 'ok' } });
    expect(read(await before(shell()))).toMatchObject({ reason: expect.stringMatching(/^pending/) });
    expect([...new Set(asked)].map((id) => id.slice(-2))).toEqual(['_1', '_2']);
  });

  it('tells the model the approved arguments where the agent would keep a removed one, and allows them', async () => {
    const { before, countersign, asked } = open('gemini');
    await before(shell());
    countersign.edit(asked[0] ?? '', { command: 'make staging' });
    const exactly = expect.stringContaining('exactly these: {"command":"make staging"}');
    expect(read(await before(shell()))).toMatchObject({ decision: 'deny', reason: exactly });
    expect(read(await before(shell({ command: 'make staging' })))).toMatchObject({ decision: 'allow' });
    expect(read(await before(shell({ command: 'make staging' })))).toMatchObject({ decision: 'deny' });
  });
});

function requestUrl(input: Parameters<typeof fetch>[0]): string {
  return typeof input === 'string' ? input : input instanceof URL ? input.href : input.url;
}
