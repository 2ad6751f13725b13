import { chmodSync, globSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { startInPty } from './cli/pty.js';
import type { CliPlace } from './cli/run-cli.js';
import { cliCommand, runCli, startCli } from './cli/run-cli.js';
import { cleanUpAfterEach, temporaryFolder } from './harness/cleanup.js';
import { freePort } from '../ports.js';
import type { Server } from './harness/server.js';
import { startReadyServer } from './harness/server.js';
import { readTokens } from './harness/tokens.js';
import { eventually } from './harness/wait.js';

cleanUpAfterEach();

interface Call {
  readonly callId: string;
  readonly state: string;
  readonly output: unknown;
  readonly arguments: unknown;
  readonly instruction: string | null;
  readonly approval: {
    readonly approvalId: string;
    readonly shownDigest: string;
    readonly responses: readonly unknown[];
  };
}

/** A server on its own folder, an agent that requests, and the command line of a person at that machine. */
async function setUp() {
  const place: CliPlace = { folder: temporaryFolder(), port: await freePort() };
  const server: { current: Server } = { current: await startReadyServer(place) };
  const tokens = readTokens(place.folder);
  let asked = 0;
  const post = async (token: string, path: string, body: unknown) => {
    const answer = await server.current.http.send({ method: 'POST', path, token, body });
    if (answer.status >= 300) throw new Error(`${path}: ${answer.text}`);
    return answer.body;
  };
  return {
    place,
    server,
    tokens,
    post,
    /** The agent asks to delete a file. */
    ask: async (more: object = {}): Promise<Call> => {
      asked += 1;
      const call = {
        toolCallId: `call_${asked}`,
        toolName: 'delete_file',
        arguments: { path: '/etc/hosts' },
        needsApproval: true,
      };
      const answer = await post(tokens.agent, '/v1/tool-calls', { runId: 'run-42', calls: [{ ...call, ...more }] });
      const [made] = (answer as { calls: Call[] }).calls;
      if (made === undefined) throw new Error('no call was answered');
      return made;
    },
    call: async (callId: string): Promise<Call> => {
      const answer = await server.current.http.send({
        method: 'GET',
        path: `/v1/tool-calls/${callId}`,
        token: tokens.agent,
      });
      return answer.body as Call;
    },
    cli: (...args: readonly string[]) => runCli(place, args),
  };
}

/** The complete lines; the last one of a running process may be partial. */
const linesOf = (text: string): unknown[] =>
  text
    .split('\n')
    .slice(0, -1)
    .map((line) => JSON.parse(line) as unknown);

describe('countersign on the machine of its server', () => {
  it('finds the server and the token by itself, lists, and approves', async () => {
    const { ask, call, cli } = await setUp();
    const { callId, approval } = await ask();
    const list = await cli('list', '--json');
    expect(list).toMatchObject({ code: 0, err: '' });
    expect(linesOf(list.out)).toEqual([
      expect.objectContaining({ approvalId: approval.approvalId, callId, state: 'pending' }),
    ]);
    expect((await cli('inbox')).out).toContain(`${approval.approvalId}  waits`);

    const approved = await cli(
      'approve',
      approval.approvalId,
      '--digest',
      approval.shownDigest,
      '--reason',
      'seen',
      '--instruction',
      'verify',
      '--json',
    );
    expect(approved).toMatchObject({ code: 0, err: '' });
    expect(JSON.parse(approved.out)).toMatchObject({
      state: 'approved',
      responses: [{ respondedBy: 'me', reason: 'seen', via: 'cli' }],
    });
    expect(await call(callId)).toMatchObject({ state: 'approved', instruction: 'verify' });
    expect(await cli('list')).toEqual({ code: 0, out: 'Nothing is pending.\n', err: '' });
  });

  it('denies, and tells the second one who was first', async () => {
    const { ask, call, cli } = await setUp();
    const { callId, approval } = await ask();
    expect(await cli('deny', approval.approvalId, '--reason', 'no')).toMatchObject({
      code: 0,
      out: 'Denied: delete_file. The approval is denied.\n',
    });
    expect(await call(callId)).toMatchObject({ state: 'denied' });
    const second = await cli('approve', approval.approvalId);
    expect(second).toMatchObject({ code: 5, out: '' });
    expect(second.err).toMatch(/me denied this (just now|\d+ s ago) via cli\./);
    const programs = await cli('withdraw', approval.approvalId, '--json');
    expect(programs.code).toBe(5);
    expect(JSON.parse(programs.err)).toMatchObject({ code: 'already-resolved', resolution: 'denied' });
  });

  it('answers in place of the tool', async () => {
    const { ask, call, place } = await setUp();
    const [one, two] = [await ask(), await ask()];
    await runCli(place, ['answer', one.approval.approvalId, '--output', '-'], '{"rows": [1, 2]}');
    await runCli(place, ['answer', two.approval.approvalId, '--text', 'done by hand']);
    expect(await call(one.callId)).toMatchObject({ state: 'succeeded', output: { rows: [1, 2] } });
    expect(await call(two.callId)).toMatchObject({ state: 'succeeded', output: 'done by hand' });
  });

  it('edits what was seen, and nothing else', async () => {
    const { ask, call, cli } = await setUp();
    const { callId, approval } = await ask({
      toolSchema: { type: 'object', properties: { path: { type: 'string' } } },
    });
    const other = `sha256:${'0'.repeat(64)}`;
    expect((await cli('edit', approval.approvalId, '--arguments', '{"path":"/tmp/x"}', '--digest', other)).code).toBe(
      5,
    );
    const invalid = await cli('edit', approval.approvalId, '--arguments', '{"path":1}');
    expect(invalid).toMatchObject({ code: 5, err: expect.stringContaining('must be string') });
    expect((await cli('edit', approval.approvalId, '--arguments', '{"path":12345678901234567890}')).code).toBe(5);
    const edited = await cli('edit', approval.approvalId, '--arguments', '{"path":"/tmp/x"}');
    expect(edited).toMatchObject({
      code: 0,
      out: expect.stringContaining('-   "path": "/etc/hosts"\n+   "path": "/tmp/x"\n'),
    });
    expect(await call(callId)).toMatchObject({ state: 'approved', arguments: { path: '/tmp/x' } });
  });

  it('shows hidden values to a person who may answer, and records the look', async () => {
    const { ask, cli, place } = await setUp();
    const { callId, approval } = await ask({ arguments: { host: 'db-1', password: 'hunter2' } });
    const file = join(place.folder, 'data', 'tokens.json');
    const entries = JSON.parse(readFileSync(file, 'utf8')) as unknown[];
    writeFileSync(file, JSON.stringify([...entries, { token: 'ann-token', principal: 'ann', roles: ['approver'] }]));
    const ann = (...args: readonly string[]) => runCli({ ...place, env: { COUNTERSIGN_TOKEN: 'ann-token' } }, args);
    await eventually('the tokens file to be read', async () => (await ann('list')).code === 0 || undefined);
    const card = (await ann('show', approval.approvalId)).out;
    expect(card).not.toContain('hunter2');
    expect(card.replaceAll(/\s+/g, ' ')).toMatch(
      /1 value is hidden from you: 1 by its name\. Show them: countersign reveal apr_/,
    );
    const revealed = await ann('reveal', approval.approvalId);
    expect(revealed).toMatchObject({ code: 0, out: expect.stringContaining('hunter2'), err: '' });
    const { out } = await ann('reveal', approval.approvalId, '--json');
    expect(JSON.parse(out)).toMatchObject({ arguments: { host: 'db-1', password: 'hunter2' } });
    expect((await cli('show', callId)).out).toMatch(/ann looked at the hidden values via cli: .*\/password/);
    await cli('deny', approval.approvalId);
    expect(await ann('reveal', approval.approvalId)).toMatchObject({ code: 5, out: '' });
  });

  it('tells the story of a call, to auditors and to others', async () => {
    const { ask, cli, tokens } = await setUp();
    const { callId, approval } = await ask({ description: 'harmless\u001b[2J' });
    await cli('deny', approval.approvalId, '--reason', 'not on a Friday');
    const types = ['ToolCallRequested', 'ApprovalRequested', 'ApprovalResponded'].map((type) =>
      expect.objectContaining({ type }),
    );
    for (const as of [[], ['--token', tokens.agent], ['--token', tokens.worker]]) {
      const story = await cli('show', callId, '--json', ...as);
      expect(JSON.parse(story.out)).toMatchObject({ call: { callId, state: 'denied' }, events: types });
    }
    const story = await cli('show', approval.approvalId);
    expect(story.out).toContain('me: deny via cli: not on a Friday → denied');
    expect(story.out).not.toContain('\u001b');
    expect((await cli('show', 'tc_aaaaaaaaaaaaaaaaaaaaaaaaaa')).code).toBe(6);
  });

  it('shows a run, cancels a call and then all of them', async () => {
    const { ask, call, cli } = await setUp();
    const [one, two] = [await ask(), await ask()];
    expect(JSON.parse((await cli('run', 'run-42', '--json')).out)).toMatchObject({
      stopReason: 'awaiting_approval',
      calls: [{}, {}],
    });
    expect((await cli('cancel', one.callId, '--reason', 'wrong file')).code).toBe(0);
    expect(await call(one.callId)).toMatchObject({ state: 'cancelled' });
    expect((await cli('cancel', '--run', 'run-42')).code).toBe(0);
    expect(await call(two.callId)).toMatchObject({ state: 'cancelled' });
    expect((await cli('run', 'run-42')).out).toContain('no pending approval');
  });

  it('says what happened to a call whose outcome is unknown', async () => {
    const { ask, call, cli, post, tokens } = await setUp();
    const { callId, approval } = await ask();
    await cli('approve', approval.approvalId);
    await post(tokens.worker, `/v1/tool-calls/${callId}/claim`, { resolverId: 'w1', leaseMs: 1 });
    await eventually('the lease to be over', async () => ((await call(callId)).state === 'unknown' ? true : undefined));
    expect((await cli('reconcile', callId, '--status', 'succeeded', '--note', 'seen in the list')).code).toBe(0);
    expect(await call(callId)).toMatchObject({ state: 'succeeded' });
    expect((await cli('reconcile', callId, '--status', 'failed', '--note', 'no')).code).toBe(5);
  });

  it('tells how the server is, by exit code too', async () => {
    const { ask, cli, server, place, tokens } = await setUp();
    await ask();
    expect(await cli('status')).toMatchObject({ code: 0, out: expect.stringContaining('pending   1, the oldest for') });
    expect(JSON.parse((await cli('status', '--json')).out)).toMatchObject({ ready: true, signedIn: true, pending: 1 });
    expect((await cli('status', '--token', 'wrong')).code).toBe(4);
    expect((await cli('status', '--token', tokens.agent)).code).toBe(0);
    expect((await cli('approve', 'apr_aaaaaaaaaaaaaaaaaaaaaaaaaa_1', '--token', tokens.worker)).code).toBe(4);
    await server.current.stop();
    const gone = await runCli(place, ['status', '--json']);
    expect(gone).toMatchObject({ code: 3, out: '' });
    expect(JSON.parse(gone.err)).toMatchObject({
      code: 'unreachable',
      remedy: expect.stringContaining('countersign start'),
    });
  });

  it('follows events through a kill of the server without gap or repeat', async () => {
    const { ask, place, server } = await setUp();
    const before = await ask();
    const tail = startCli(place, ['tail', '--after', '0', '--json', '--call', before.callId]);
    await eventually('the first events', () => (linesOf(tail.out()).length === 2 ? true : undefined));
    server.current.kill('SIGKILL');
    await server.current.exited;
    server.current = await startReadyServer(place);
    await runCli(place, ['approve', before.approval.approvalId]);
    await eventually('the event after the restart', () => (linesOf(tail.out()).length === 3 ? true : undefined));
    tail.kill('SIGINT');
    expect(await tail.ended).toMatchObject({ code: 130, err: '' });
    expect(linesOf(tail.out())).toMatchObject([
      { type: 'ToolCallRequested' },
      { type: 'ApprovalRequested' },
      { type: 'ApprovalResponded' },
    ]);
  });
});

describe('the inbox on a terminal', () => {
  it('shows what comes, approves, edits, and hears of what others decide', async () => {
    const { ask, call, place, post, tokens } = await setUp();
    const editor = join(place.folder, 'editor.sh');
    writeFileSync(editor, '#!/bin/sh\necho \'{"path": "/tmp/hosts"}\' > "$1"\n');
    chmodSync(editor, 0o755);
    const inbox = startInPty({ ...place, env: { EDITOR: editor } }, cliCommand(['inbox']));
    await inbox.sees('Nothing waits for an answer.');

    const first = await ask({ toolName: 'first_tool', description: 'harmless\u001b[2J\u202e' });
    await inbox.sees('first_tool   pending');
    await inbox.sees('harmless⟦U+001B⟧[2J⟦U+202E⟧');
    await inbox.press('a');
    await inbox.sees('Approve: it runs exactly as shown.');
    await inbox.press('o', 'k', '\r');
    await inbox.sees('Approved: first_tool. The approval is approved.');
    expect(await call(first.callId)).toMatchObject({
      state: 'approved',
      approval: { responses: [{ reason: 'ok', via: 'cli' }] },
    });

    const second = await ask({ toolName: 'second_tool' });
    await inbox.sees('second_tool   pending');
    await inbox.press('e');
    await inbox.sees('Approve with your arguments: the change is below the card.');
    await inbox.press('\u001b[6~');
    await inbox.sees('+   "path": "/tmp/hosts"');
    await inbox.press('\r');
    await inbox.sees('Approved with your arguments: second_tool.');
    expect(await call(second.callId)).toMatchObject({ state: 'approved', arguments: { path: '/tmp/hosts' } });

    const third = await ask({ toolName: 'third_tool' });
    await inbox.sees('third_tool   pending');
    await inbox.press('d');
    await inbox.sees('Deny: it will not run.');
    await post(tokens.me, `/v1/approvals/${third.approval.approvalId}/responses`, { decision: { type: 'approve' } });
    await inbox.sees(/me approved this (just now|\d+ s ago) via api\. Nothing of yours was sent\./);

    await inbox.press('\r', 'q');
    expect(await inbox.ended).toBe(0);
    expect(inbox.written()).toContain('\u001b[?1049l');
  });
});

describe('a question on a terminal', () => {
  it('is not answered by what was typed before it stood there', async () => {
    const { ask, call, place } = await setUp();
    const asked = await ask();
    const approving = startInPty(place, cliCommand(['approve', asked.approval.approvalId]));
    await approving.press('y', '\r', 'y');
    await approving.sees('Approve this call? [y/N] ');
    await approving.press('\r');
    expect(await approving.ended).toBe(0);
    expect(approving.written()).toContain('Nothing was sent.');
    expect((await call(asked.callId)).state).toBe('awaiting_approval');
  });
});

describe('the bundle that it runs', () => {
  it('does not load the HTTP client of Node with the members of node:http', () => {
    const bundle = join(import.meta.dirname, '..', '..', 'apps', 'cli', 'bundle');
    const files = globSync('*.js', { cwd: bundle });
    expect(files).toContain('main.js');
    const importing = files.filter((file) => /from "(?:node:)?http"/.test(readFileSync(join(bundle, file), 'utf8')));
    expect(importing).toEqual([]);
  });
});
