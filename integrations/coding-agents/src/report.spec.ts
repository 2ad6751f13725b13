import { describe, expect, it } from '@jest/globals';
import { codingAgents } from './agents/agents.js';
import { afterTool } from './hook.js';
import type { HookOptions } from './options.js';
import { bash, decided, open, post } from './testing/hook-place.js';

describe('the hook after a tool', () => {
  it('records the output, and tells the model of an edit', async () => {
    const { before, after, countersign } = open();
    await before(bash('t1'));
    countersign.edit('t1', { command: 'make x' });
    await before(bash('t1'));
    const answer = await after(post('t1', { tool_input: { command: 'make x' }, tool_response: { stdout: 'ok' } }));
    expect(countersign.callOf('t1')).toMatchObject({ state: 'succeeded', output: { stdout: 'ok' } });
    expect(decided(answer)['additionalContext']).toContain('An approver changed the arguments');
  });

  it('records a failure', async () => {
    const { before, after, countersign } = open();
    await before(bash('t1'), { gate: 'none' });
    await after(post('t1', { hook_event_name: 'PostToolUseFailure', error: 'exit 1' }));
    expect(countersign.callOf('t1')).toMatchObject({ state: 'failed', error: 'exit 1' });
  });

  it('records the call of an earlier id that a retry was allowed for', async () => {
    const { before, after, countersign } = open();
    await before(bash('t1'));
    countersign.approve('t1');
    await before(bash('t2'));
    await after(post('t2', { tool_response: 'ok' }));
    expect(countersign.callOf('t1').state).toBe('succeeded');
  });

  it('reports the attempt that the hook before the tool was given, and no later one', async () => {
    const { before, after, countersign } = open();
    await before(bash('t1'), { gate: 'none' });
    countersign.retry('t1');
    await before(bash('t2'), { gate: 'none' });
    expect(await after(post('t1', { tool_response: 'late' }))).toMatchObject({
      exitCode: 1,
      stderr: expect.stringContaining('not recorded'),
    });
    expect(await after(post('t2', { tool_response: 'ok' }))).toMatchObject({ exitCode: 0, stderr: '' });
    expect(countersign.callOf('t1')).toMatchObject({ state: 'succeeded', output: 'ok' });
  });

  it('does not wait for an input that never ends', async () => {
    const never = new Promise<Uint8Array>(() => undefined);
    const run = { agent: codingAgents.codex, input: never, marks: new Map<string, string>() };
    const answer = await afterTool(run, () => ({ graceMs: 20 }) as HookOptions);
    expect(answer).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('did not end the input') });
  });

  it('does not stop the agent when the report fails', async () => {
    const { after, countersign } = open();
    countersign.setAway(true);
    expect(await after(post('t1', {}))).toMatchObject({ exitCode: 1, stderr: expect.stringContaining('not recorded') });
  });
});

describe('the end of a call that did not run', () => {
  it('is not that of an equal call that runs', async () => {
    const { before, after, countersign } = open();
    await before(bash('t1'), { gate: 'none' });
    await before(bash('t2'));
    const failed = { hook_event_name: 'PostToolUseFailure', error: 'denied' };
    expect(await after(post('t2', failed))).toMatchObject({ exitCode: 0, stderr: '' });
    expect(await after(post('t3', failed))).toMatchObject({ exitCode: 0, stderr: '' });
    expect([countersign.callOf('t1').state, countersign.callOf('t2').state]).toEqual([
      'executing',
      'awaiting_approval',
    ]);
  });

  it.each([
    ['was already allowed', false],
    ['failed because Countersign was away', true],
  ])('is not that of the running one where the agent has no ids and the hook %s', async (_why, isAway) => {
    const { before, after, countersign, asked } = open('copilot');
    const call = { sessionId: 's1', cwd: '/w', toolName: 'bash', toolArgs: { command: 'make' } };
    await before(call, { gate: 'none' });
    countersign.setAway(isAway);
    const { permissionDecisionReason: error } = JSON.parse((await before(call)).stdout) as Record<string, unknown>;
    countersign.setAway(false);
    await after({ ...call, error: `Denied by a hook: ${String(error)}` });
    expect(countersign.callOf(asked[0] ?? '').state).toBe('executing');
    await after({ ...call, error: 'exit 1' });
    expect(countersign.callOf(asked[0] ?? '').state).toBe('failed');
  });
});

describe('an output that cannot be recorded', () => {
  it('does not hide that the tool ran', async () => {
    const { before, after, countersign } = open();
    await before(bash('t1'), { gate: 'none' });
    const strict: typeof fetch = async (input, init) => {
      if (!JSON.stringify(init?.body ?? '').includes('\\\\ud800')) return countersign.fetch(input, init);
      const detail = 'output.stdout holds a lone surrogate';
      const problem = { type: 'about:blank', title: 'Invalid', status: 400, code: 'invalid-request', detail };
      return Response.json(problem, { status: 400 });
    };
    const answer = await after(post('t1', { tool_response: { stdout: '\ud800' } }), { fetch: strict });
    expect(answer).toMatchObject({ exitCode: 0, stderr: '' });
    const unrecorded = 'invalid-request: output.stdout holds a lone surrogate';
    expect(countersign.callOf('t1')).toMatchObject({ state: 'succeeded', output: { unrecorded } });
  });

  it.each([100, 200_000])('may be nested %i levels deep', async (depth) => {
    const { before, after, countersign } = open();
    await before(bash('t1'), { gate: 'none' });
    const text = JSON.stringify(post('t1', { tool_response: '@' }));
    const answer = await after(Buffer.from(text.replace('"@"', '['.repeat(depth) + ']'.repeat(depth))));
    expect(answer).toMatchObject({ exitCode: 0, stderr: '' });
    const output = { unrecorded: 'The output is nested too deeply.' };
    expect(countersign.callOf('t1')).toMatchObject({ state: 'succeeded', output });
  });

  it('does not make the model repeat the call when the report fails', async () => {
    const { before, after } = open();
    await before(bash('t1'), { gate: 'none' });
    const problem = { type: 'about:blank', title: 'Invalid', status: 400, code: 'invalid-request', detail: 'x' };
    const refuse: typeof fetch = () => Promise.resolve(Response.json(problem, { status: 400 }));
    const { stderr } = await after(post('t1', {}), { fetch: refuse });
    expect(stderr).toMatch(/not recorded.* invalid-request: x\. The tool has run: do not make its call again\.$/);
  });
});
