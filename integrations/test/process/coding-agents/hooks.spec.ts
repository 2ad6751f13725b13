import { beforeAll, describe, expect, it } from '@jest/globals';
import { spawn } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { createClient, type ApprovalView, type Client } from '@countersign/worker-sdk';
import { Countersign } from '../../../examples/coding-agents/opencode/countersign.js';
import { freePort } from '../../../../test/ports.js';
import { cleanUpAfterAll, temporaryFolder } from '../../../../test/process/harness/cleanup.js';
import { install, type Installation } from '../../../../test/process/harness/standalone.js';
import { eventually } from '../../../../test/process/harness/wait.js';
import { configurations, environmentOf, runHook } from './configurations.js';

cleanUpAfterAll();

let place: Installation;
let ledger: Client;
let env: Record<string, string>;
let away: Record<string, string>;
beforeAll(async () => {
  place = await install();
  ledger = createClient({ url: `http://127.0.0.1:${place.port}`, token: place.tokens.me });
  env = environmentOf(place.port, place.dataFolder);
  away = environmentOf(await freePort(), place.dataFolder);
});

const pendingOf = (runId: string): Promise<ApprovalView> =>
  eventually(`a pending approval of ${runId}`, async () => {
    const { approvals } = await ledger.listApprovals({ state: 'pending', runId });
    return approvals[0];
  });
const respond = async (runId: string, type: 'approve' | 'deny'): Promise<void> => {
  const { approvalId, proposal } = await pendingOf(runId);
  await ledger.respond(approvalId, { decision: { type }, reason: 'not on Friday', proposalDigest: proposal.digest });
};

describe.each(configurations)('the hooks of $name', ({ name, before, after, input, result }) => {
  const deny = /"(decision|permission|permissionDecision)":"deny"/;

  it('deny a call as pending, allow it after approval, and record its result', async () => {
    const session = `${name}-allow`;
    const call = input(session, 'make');
    const pending = await runHook(`${before} --hold 0`, call, env);
    expect(pending).toMatchObject({ code: 0, out: expect.stringMatching(/pending: approval apr_/) });
    expect(pending.out).toMatch(deny);
    await respond(session, 'approve');
    const allowed = await runHook(before, call, env);
    expect(allowed.code).toBe(0);
    expect(allowed.out).not.toMatch(deny);
    expect(await runHook(after, { ...call, ...result }, env)).toMatchObject({ code: 0, err: '' });
    expect((await ledger.getRun(session)).calls).toMatchObject([{ state: 'succeeded', agentId: name }]);
  });

  it('hold a call until a person denies it', async () => {
    const session = `${name}-deny`;
    const held = runHook(before, input(session, 'rm -r /'), env);
    await respond(session, 'deny');
    expect((await held).out).toMatch(deny);
    expect((await held).out).toContain('not on Friday');
  });

  it('deny every call while the server is away', async () => {
    const denied = await runHook(before, input(`${name}-away`, 'make'), away);
    expect(denied).toMatchObject({
      code: name === 'copilot' ? 0 : 2,
      err: expect.stringContaining('Start Countersign'),
    });
    expect(denied.out).toMatch(deny);
  });
});

describe('a hook that cannot begin', () => {
  it('blocks the tool without a token', async () => {
    const [claude] = configurations;
    const input = claude?.input('no-token', 'make') ?? {};
    const denied = await runHook(claude?.before ?? '', input, { ...env, COUNTERSIGN_DATA: '/nowhere' });
    expect(denied).toMatchObject({ code: 2, err: expect.stringContaining('Set COUNTERSIGN_TOKEN') });
  });

  it('blocks the tool when the hold is longer than a timer takes', async () => {
    const input = configurations[0]?.input('long-hold', 'make') ?? {};
    const denied = await runHook('countersign hook claude-code --hold 25d', input, env);
    expect(denied).toMatchObject({ code: 2, err: expect.stringContaining('--hold must be at most 24d') });
  });

  it('blocks the tool when its input is too large to be parsed in time', async () => {
    const input = configurations[0]?.input('too-large', 'x'.repeat(5 * 1024 * 1024)) ?? {};
    const denied = await runHook('countersign hook claude-code', input, env);
    expect(denied).toMatchObject({ code: 2, err: expect.stringContaining('more than 2097152 bytes') });
  });

  it('blocks the tool when the options are wrong', async () => {
    const denied = await runHook('countersign hook claude-code --gate sometimes', {}, env);
    expect(denied).toMatchObject({ code: 2, err: expect.stringContaining('--gate') });
  });
});

describe('a call that a person lets run a second time', () => {
  it('is reported with its second attempt', async () => {
    const [claude] = configurations;
    const { before = '', after = '', result = {} } = claude ?? {};
    const call = claude?.input('second', 'make') ?? {};
    await runHook(`${before} --gate none --lease 1s`, call, env);
    const [first] = (await ledger.getRun('second')).calls;
    const { callId } = await ledger.getToolCall(first?.callId ?? '', { waitMs: 20_000, until: 'settled' });
    const body = { status: 'retry', note: 'the machine was restarted' };
    await place.http.send({ method: 'POST', path: `/v1/tool-calls/${callId}/reconcile`, token: place.tokens.me, body });
    expect((await runHook(`${before} --gate none`, call, env)).out).toContain('"allow"');
    expect(await runHook(after, { ...call, ...result }, env)).toMatchObject({ code: 0, err: '' });
    expect(await ledger.getToolCall(callId)).toMatchObject({ state: 'succeeded', output: { stdout: 'ok' } });
  });
});

describe('a hook whose agent does not read', () => {
  it('blocks the tool by its exit code', async () => {
    const child = spawn('countersign', ['hook', 'codex', '--hold', '0'], { env, stdio: ['pipe', 'pipe', 'ignore'] });
    child.stdout.destroy();
    child.stdin.end(JSON.stringify(configurations[1]?.input('no-reader', 'make')));
    const code = await new Promise((resolve) => child.once('exit', resolve));
    expect([code, (await pendingOf('no-reader')).state]).toEqual([2, 'pending']);
  });
});

/** An environment whose `countersign` is this shell script. */
function environmentWith(script: string): Record<string, string> {
  const folder = temporaryFolder();
  const file = join(folder, 'countersign');
  writeFileSync(file, `#!/bin/sh\ncat > /dev/null\n${script}\n`, { mode: 0o755 });
  return { ...env, PATH: `${folder}:${env['PATH'] ?? ''}` };
}

describe('the plugin of OpenCode', () => {
  const call = (sessionID: string) => ({ tool: 'bash', sessionID, callID: `call-${sessionID}` });

  it('lets an approved call run with the arguments of an edit, and records its result', async () => {
    const plugin = await Countersign({ directory: '/work', env });
    const output = { args: { command: 'make deploy', timeout: 1 } };
    const held = plugin['tool.execute.before'](call('open-1'), output);
    const { approvalId, proposal } = await pendingOf('open-1');
    const decision = { type: 'edit', arguments: { command: 'make staging' } } as const;
    await ledger.respond(approvalId, { decision, reason: 'staging first', proposalDigest: proposal.digest });
    await held;
    expect(output.args).toEqual({ command: 'make staging' });
    const ran = { output: 'ok' };
    await plugin['tool.execute.after'](call('open-1'), ran);
    expect(ran.output).toContain('An approver changed the arguments');
    expect((await ledger.getRun('open-1')).calls).toMatchObject([{ state: 'succeeded', output: 'ok' }]);
  });

  it.each([
    ['allow', `echo '{"decision":"allow"}'; exit 2`],
    ['pass', `echo '{"decision":"pass"}'; kill -9 $$`],
    ['null', 'echo null'],
  ])('runs no tool after a hook that failed, or decided nothing: %s', async (_name, script) => {
    const plugin = await Countersign({ directory: '/work', env: environmentWith(script) });
    await expect(plugin['tool.execute.before'](call('open-4'), { args: {} })).rejects.toThrow('did not decide');
    const ran = { output: 'ok' };
    await plugin['tool.execute.after'](call('open-4'), ran);
    expect(ran.output).toBe('ok');
  });

  it('stops a denied call, and every call while the server or the command is away', async () => {
    const plugin = await Countersign({ directory: '/work', env });
    const held = plugin['tool.execute.before'](call('open-2'), { args: { command: 'rm -r /' } });
    const stopped = expect(held).rejects.toThrow('not on Friday');
    await respond('open-2', 'deny');
    await stopped;
    for (const [other, why] of [
      [away, 'Start Countersign'],
      [{ PATH: '/nowhere' }, 'did not start'],
    ] as const) {
      const lost = await Countersign({ directory: '/work', env: other });
      await expect(lost['tool.execute.before'](call('open-3'), { args: {} })).rejects.toThrow(why);
    }
  });
});
