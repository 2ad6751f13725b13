import { execFile, spawn } from 'node:child_process';
import { readdirSync, readFileSync, symlinkSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { beforeAll, expect, it, jest } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { missing } from '../../../test/clients/tools.ts';
import { freePort } from '../../../test/ports.ts';
import { cleanUpAfterAll, onCleanup, temporaryFolder } from '../../../test/process/harness/cleanup.js';
import { eventually } from '../../../test/process/harness/wait.js';
import { agents } from './agents.ts';
import { trySuite } from './kit-suite.ts';
import { approveAs, askAgain, installDesk, openChat, slowAnswers, stopChat, withdrawAs } from './php-desk.ts';

jest.setTimeout(300_000);

const root = join(import.meta.dirname, '..', '..', '..');
const folder = join(root, 'integrations', 'php');

/** Runs a program in PHP. A failure rejects with everything that it printed. */
async function runPhp(args: readonly string[], env: Readonly<Record<string, string>>, input = ''): Promise<string> {
  // An error of PHP's own is printed as well.
  const settings = ['-d', 'display_errors=stderr', '-d', 'error_reporting=-1'];
  const ended = promisify(execFile)('php', [...settings, ...args], { env: { ...process.env, ...env } });
  ended.child.stdin?.end(input);
  try {
    return (await ended).stdout;
  } catch (error) {
    const { message, stdout = '' } = error as Error & { readonly stdout?: string };
    throw new Error(`${message}\n${stdout}`, { cause: error });
  }
}

if (missing(['PHP with Guzzle']).length === 0) {
  let env: Readonly<Record<string, string>>;
  cleanUpAfterAll();
  beforeAll(async () => {
    const { port, tokens } = await installDesk();
    env = {
      URL: `http://127.0.0.1:${String(port)}`,
      AGENT_TOKEN: tokens.agent,
      WORKER_TOKEN: tokens.worker,
      DESK_TOKEN: 'support-desk-token',
      ADMIN_TOKEN: 'boss-token',
      NUMBERS: join(root, 'test', 'cases', 'numbers.json'),
      WEBHOOK_SECRETS: join(root, 'libs', 'channels', 'src', 'testing', 'webhook-secrets.json'),
      COUNTERSIGN_URL: `http://127.0.0.1:${String(port)}`,
      COUNTERSIGN_TOKEN: 'support-desk-token',
      COUNTERSIGN_RESOLVER_TOKEN: tokens.worker,
      TMPDIR: temporaryFolder(),
    };
  });

  it.each([
    ['JSON of PHP is that of the ledger, and a claim of anything but what was approved is refused', 'json.php', 9],
    ['requests, responses, problems and webhooks are read as they are documented', 'data.php', 11],
    ['a real server asks people, and each call runs once', 'server.php', 23],
    ['a tool gets its arguments by name alone, and a call without them fails by itself', 'arguments.php', 5],
  ])('%s', async (_, file, count) => {
    const printed = await runPhp([join(folder, 'tests', 'run.php'), join(folder, 'tests', file)], env);
    expect(printed).toBe(`${String(count)} passed, 0 failed\n`);
  });

  it('the commands of the guide start a server, and its agent goes on when a person of the application has decided', async () => {
    const guide = readFileSync(join(root, 'docs', 'php.md'), 'utf8');
    const section = guide.slice(guide.indexOf('## Start a server'), guide.indexOf('## Tools that need'));
    const [tokens, start, run] = [...section.matchAll(/^```sh\n([^]*?)^```/gm)].map(([, block = '']) => block);
    const place = temporaryFolder();
    for (const name of ['integrations', 'node_modules']) symlinkSync(join(root, name), join(place, name));
    const url = `http://127.0.0.1:${String(await freePort())}`;
    const typed = (commands: string | undefined) =>
      spawn('bash', ['-euo', 'pipefail', '-c', commands ?? ''], {
        cwd: place,
        env: {
          PATH: `${dirname(process.execPath)}${delimiter}${process.env['PATH'] ?? ''}`,
          ...{ HOME: place, TMPDIR: place, COUNTERSIGN_PORT: new URL(url).port, COUNTERSIGN_URL: url },
        },
        stdio: ['ignore', 'pipe', 'ignore'],
        detached: true,
      });
    const server = typed(`${tokens ?? ''}${start ?? ''}`);
    // The shell ends, and the server stays in its group.
    onCleanup(() => void process.kill(-(server.pid ?? NaN), 'SIGKILL'));
    await eventually('the server of the guide', async () =>
      (await fetch(`${url}/readyz`).catch(() => undefined))?.ok === true ? true : undefined,
    );
    const shown = 'delete_file {"path":"/etc/hosts"}\nRequested by support-desk\nStill needed: 1\n';
    expect((await text(typed(run).stdout)).replace(/apr_\w+/, 'apr_1')).toBe(
      `apr_1: Delete /etc/hosts\n${shown}Delete /etc/hosts\n${shown}approved\ncall_1: wrote /tmp/notes\ncall_2: deleted /etc/hosts\n`,
    );
  });

  it('the chat of the guide has two phases and no state, and decides only what its user was shown', async () => {
    const chat = await openChat(env);
    const toolCalls = [
      { id: '', name: 'transfer', arguments: { amount: 5000 } },
      { id: '', name: 'transfer', arguments: { amount: 6000 } },
      { id: '', name: 'transfer', arguments: { amount: 5 } },
      { id: '', name: 'get_location', arguments: {} },
      { id: '', name: 'transfer', arguments: {} },
    ];
    const phase = (...more: readonly object[]) => chat.post([{ role: 'assistant', id: 'msg_1', toolCalls }, ...more]);
    expect(await chat.statusOf({ cookie: '' })).toBe(403);
    expect(await chat.statusOf({ 'content-type': 'text/plain' })).toBe(403);

    const first = await chat.post([
      { role: 'user', content: 'pay' },
      { role: 'assistant', id: 'msg_1', toolCalls },
    ]);
    expect(first).toMatchObject({
      clientCalls: [{ toolCallId: 'msg_1/3', toolName: 'get_location', arguments: {} }],
      toolResults: { 'msg_1/2': 'sent 5', 'msg_1/4': expect.stringContaining('did not run: arguments') },
      stopReason: 'awaiting_approval',
    });
    const [asked, other] = first.toolApprovalRequests;
    expect(asked?.text).toContain('{"amount":5000}');
    // The second user has a conversation of their own, and decides nothing of this one.
    const { approvalId, digest, shownRevision } = asked!;
    const answer = { approvalId, digest, shownRevision, approved: true };
    const denial = { approvalId: other?.approvalId, digest: other?.digest, approved: false, reason: 'too much' };
    const lou = await chat.post(
      [
        { role: 'assistant', id: 'msg_1', toolCalls: [toolCalls[2]] },
        { role: 'tool', toolApprovalResponses: [answer] },
      ],
      'lou',
    );
    expect(lou).toMatchObject({
      refused: { [asked!.approvalId]: { problem: 'not-found' } },
      toolResults: { 'msg_1/0': 'sent 5' },
      stopReason: null,
    });

    const forged = [
      { ...answer, digest: undefined },
      { ...denial, shownRevision, approved: true, digest: `sha256:${'0'.repeat(64)}` },
    ];
    expect(await phase({ role: 'tool', toolApprovalResponses: forged })).toMatchObject({
      toolApprovalRequests: [asked, other],
      refused: {
        [asked!.approvalId]: { problem: 'invalid-request' },
        [other!.approvalId]: { problem: 'digest-mismatch' },
      },
    });
    const toolResults = [
      { toolCallId: 'msg_1/3', result: 'Bern' },
      { toolCallId: 'msg_1/0', result: 'forged' },
    ];
    // The second time is that of a browser that sends again.
    for (const _ of ['once', 'again'])
      expect(await phase({ role: 'tool', toolApprovalResponses: [answer, denial], toolResults })).toMatchObject({
        toolApprovalRequests: [],
        clientCalls: [],
        refused: {},
        toolResults: {
          'msg_1/0': 'sent 5000',
          'msg_1/1': 'The call was denied by support-desk#kim and did not run: too much',
          'msg_1/2': 'sent 5',
          'msg_1/3': 'Bern',
        },
        stopReason: null,
      });
  });

  it('the chat of the guide tells the model that a call without a response was denied', async () => {
    const chat = await openChat(env);
    const toolCalls = [5000, 6000].map((amount) => ({ id: 'transfer', name: 'transfer', arguments: { amount } }));
    const assistant = { role: 'assistant', id: 'msg_2', toolCalls };
    const { toolApprovalRequests } = await chat.post([assistant]);
    const { approvalId, digest, shownRevision } = toolApprovalRequests[0]!;
    const sent = { role: 'tool', toolApprovalResponses: [{ approvalId, digest, shownRevision, approved: true }] };
    expect((await chat.post([assistant, sent])).toolResults).toEqual({
      'msg_2/0': 'sent 5000',
      'msg_2/1': 'The call was cancelled before it ran: the user did not respond, so it counts as denied',
    });
  });

  it('in the chat of the guide the user\'s "no" wins before the tool runs, and only the chat may answer', async () => {
    const chat = await openChat(env);
    const toolCalls = [
      { name: 'transfer', arguments: { amount: 7000 } },
      { name: 'transfer', arguments: { amount: 8000 } },
      { name: 'get_location', arguments: {} },
      { name: 'transfer' },
    ];
    const assistant = { role: 'assistant', id: 'msg_3', toolCalls };
    const { toolApprovalRequests } = await chat.post([assistant]);
    const [first, second] = toolApprovalRequests;
    expect(await approveAs(env, 'lee', 'support', first!.approvalId)).toBe(403);
    expect(await approveAs(env, 'lee', 'chat', first!.approvalId)).toBe(200);
    // Without a digest, as Prism sends them; then the user types on.
    const denials = [first, second].map((one) => ({ approvalId: one?.approvalId, approved: false, reason: 'never' }));
    const sent = [
      { role: 'tool', toolApprovalResponses: denials },
      { role: 'user', content: 'and now?' },
    ];
    for (const _ of ['once', 'again'])
      expect(await chat.post([assistant, ...sent])).toMatchObject({
        refused: { [first!.approvalId]: { problem: 'already-resolved', by: 'support-desk#lee' } },
        toolResults: {
          'msg_3/0': 'The call was cancelled before it ran: the user said no',
          'msg_3/1': 'The call was denied by support-desk#kim and did not run: never',
          'msg_3/2': 'The call was cancelled before it ran: the user went on without it',
          'msg_3/3': expect.stringContaining('did not run: arguments'),
        },
        stopReason: null,
      });

    const odd = [
      { toolApprovalResponses: 'x' },
      { toolApprovalResponses: [{ ...denials[0], reason: ['x'] }] },
      { toolApprovalResponses: [{ ...denials[0], digest: 7 }] },
      { toolApprovalResponses: [{ ...denials[0], shownRevision: '1' }] },
      { toolResults: [{ toolCallId: [] }] },
    ].map((more) => [assistant, { role: 'tool', ...more }]);
    const renumbered = [{ ...assistant, toolCalls: toolCalls.slice(1) }];
    const statuses = [...odd, null, ['x'], [{ ...assistant, id: undefined }], renumbered].map((body) =>
      chat.statusOf({}, body),
    );
    expect(await Promise.all(statuses)).toEqual(Array(9).fill(400));
  });

  it("in the chat of the guide a denial that the ledger refuses keeps another person's approval from running the tool", async () => {
    const chat = await openChat(env);
    const toolCalls = [1, 2, 3, 4].map((n) => ({ name: 'transfer', arguments: { amount: 9000 + n } }));
    const assistant = { role: 'assistant', id: 'msg_4', toolCalls };
    const { toolApprovalRequests } = await chat.post([assistant]);
    for (const { approvalId } of toolApprovalRequests)
      expect(await approveAs(env, 'lee', 'chat', approvalId)).toBe(200);
    const odd = [
      { reason: 'x'.repeat(9000) },
      { digest: 'sha256:zz' },
      { digest: '' },
      { reason: 'x'.repeat(5_000_000) },
    ];
    const toolApprovalResponses = toolApprovalRequests.map(({ approvalId }, index) => ({
      ...{ approvalId, approved: false },
      ...odd[index],
    }));
    const { refused, toolResults } = await chat.post([assistant, { role: 'tool', toolApprovalResponses }]);
    expect(Object.values(refused).map(({ problem }) => problem)).toEqual([
      ...Array<string>(3).fill('invalid-request'),
      'payload-too-large',
    ]);
    const cancelled = 'The call was cancelled before it ran: the user said no';
    expect(Object.values(toolResults)).toEqual(Array(4).fill(cancelled));
  });

  it('in the chat of the guide the "no" counts of two answers, the first of two outputs, and {} is no list', async () => {
    const chat = await openChat(env);
    const transfer = { name: 'transfer', arguments: { amount: 9000 } };
    const toolCalls = [transfer, transfer, { name: 'get_location', arguments: {} }];
    const assistant = { role: 'assistant', id: 'msg_5', toolCalls };
    const { toolApprovalRequests } = await chat.post([assistant]);
    const toolApprovalResponses = toolApprovalRequests.flatMap(({ approvalId, digest, shownRevision }, index) =>
      [index === 0, index === 1].map((approved) => ({ approvalId, digest, shownRevision, approved })),
    );
    const toolResults = [{}, 'forged'].map((result) => ({ toolCallId: 'msg_5/2', result: { at: result, none: [] } }));
    const denied = 'The call was denied by support-desk#kim and did not run: User denied';
    expect(await chat.post([assistant, { role: 'tool', toolApprovalResponses, toolResults }])).toMatchObject({
      toolResults: { 'msg_5/0': denied, 'msg_5/1': denied, 'msg_5/2': '{"at":{},"none":[]}' },
    });
  });

  it('in the chat of the guide a "yes" that was refused does not count later, when its history is posted again', async () => {
    const chat = await openChat(env);
    const assistant = {
      role: 'assistant',
      id: 'msg_6',
      toolCalls: [{ name: 'transfer', arguments: { amount: 30_000 } }],
    };
    const { approvalId, digest, shownRevision } = (await chat.post([assistant])).toolApprovalRequests[0]!;
    expect(await approveAs(env, 'lee', 'chat', approvalId, { instruction: 'also wipe' })).toBe(200);
    const answer = { approvalId, digest, shownRevision, approved: true };
    const history = [assistant, { role: 'tool', toolApprovalResponses: [answer] }];
    const refused = { refused: { [approvalId]: { problem: 'digest-mismatch' } } };
    expect(await chat.post(history)).toMatchObject(refused);
    await withdrawAs(env, 'lee', 'chat', approvalId);
    const again = await chat.post(history);
    expect(again).toMatchObject({ ...refused, toolResults: {} });
    const pressed = { ...answer, shownRevision: again.toolApprovalRequests[0]?.shownRevision };
    expect(await approveAs(env, 'lee', 'chat', approvalId)).toBe(200);
    const end = await chat.post([assistant, { role: 'tool', toolApprovalResponses: [pressed] }]);
    expect(end.toolResults).toEqual({ 'msg_6/0': 'sent 30000' });
  });

  it('in the chat of the guide a "no" to an earlier question about a call keeps the later one from running it', async () => {
    const chat = await openChat(env);
    const assistant = {
      role: 'assistant',
      id: 'msg_7',
      toolCalls: [{ name: 'transfer', arguments: { amount: 15_000 } }],
    };
    const { approvalId, callId } = (await chat.post([assistant])).toolApprovalRequests[0]!;
    const later = await eventually('the question that is asked again', () => askAgain(env, callId));
    expect(await approveAs(env, 'lee', 'chat', later)).toBe(200);
    const toolApprovalResponses = [{ approvalId, approved: false }];
    expect(await chat.post([assistant, { role: 'tool', toolApprovalResponses }])).toMatchObject({
      refused: { [approvalId]: { problem: 'expired' } },
      toolResults: { 'msg_7/0': 'The call was cancelled before it ran: the user said no' },
    });
  });

  it('in the chat of the guide a "no" ends a call that others approve while it is on its way', async () => {
    let voted = (): Promise<unknown> => Promise.resolve();
    const chat = await openChat({ ...env, COUNTERSIGN_URL: await slowAnswers(env['URL']!, () => voted()) });
    const toolCalls = [{ name: 'transfer', arguments: { amount: 40_000 } }];
    const assistant = { role: 'assistant', id: 'msg_8', toolCalls };
    const { approvalId } = (await chat.post([assistant])).toolApprovalRequests[0]!;
    voted = async () => {
      for (const person of ['lee', 'lou']) expect(await approveAs(env, person, 'chat', approvalId)).toBe(200);
    };
    const toolApprovalResponses = [{ approvalId, approved: false }];
    expect(await chat.post([assistant, { role: 'tool', toolApprovalResponses }])).toMatchObject({
      refused: {},
      toolResults: { 'msg_8/0': 'The call was cancelled before it ran: the user said no' },
    });
  });

  it('in the chat of the guide a "no" without its required reason ends the call when the user types on', async () => {
    const chat = await openChat(env);
    const assistant = {
      role: 'assistant',
      id: 'msg_9',
      toolCalls: [{ name: 'transfer', arguments: { amount: 60_000 } }],
    };
    const { approvalId } = (await chat.post([assistant])).toolApprovalRequests[0]!;
    const denied = { role: 'tool', toolApprovalResponses: [{ approvalId, approved: false }] };
    const refused = { [approvalId]: { problem: 'reason-required' } };
    expect(await chat.post([assistant, denied])).toMatchObject({ refused, toolApprovalRequests: [{ approvalId }] });
    expect(await chat.post([assistant, denied, { role: 'user', content: 'I said no' }])).toMatchObject({
      toolResults: { 'msg_9/0': 'The call was cancelled before it ran: the user said no' },
    });
  });

  it('the chat of the guide says that a stop holds its calls, and has the results of those that have ended', async () => {
    const chat = await openChat(env);
    const [paid, big] = [5, 5000].map((amount) => ({ name: 'transfer', arguments: { amount } }));
    const assistant = { role: 'assistant', id: 'msg_10', toolCalls: [paid, big] };
    const { approvalId } = (await chat.post([assistant])).toolApprovalRequests[0]!;
    expect(await approveAs(env, 'lee', 'chat', approvalId)).toBe(200);
    const lift = await stopChat(env);
    const stopped = { stopReason: 'stopped', stopDetail: expect.stringContaining('it runs wild') };
    try {
      expect(await chat.post([assistant])).toMatchObject({ ...stopped, toolResults: { 'msg_10/0': 'sent 5' } });
      const next = [{ ...assistant, id: 'msg_11' }];
      expect([await chat.statusOf({}, next), await chat.post(next)]).toEqual([503, stopped]);
    } finally {
      await lift();
    }
    expect((await chat.post([assistant])).toolResults).toEqual({ 'msg_10/0': 'sent 5', 'msg_10/1': 'sent 5000' });
  });

  it('the receiver of the guide takes a signed webhook, and no other one', async () => {
    const [port, secret] = [await freePort(), `whsec_${Buffer.alloc(32, 7).toString('base64')}`];
    const address = `127.0.0.1:${String(port)}`;
    const receiver = spawn('php', ['-S', address, join(folder, 'examples', 'webhook.php')], {
      env: { ...process.env, HOOK_SECRET: secret },
      stdio: 'ignore',
    });
    onCleanup(() => void receiver.kill('SIGKILL'));
    const body = '{"type":"approval.requested","data":{"callId":"tc_1"}}';
    const sentAt = new Date();
    const signature = new Webhook(secret).sign('msg_1', sentAt, body);
    const statusOf = async (sent: string): Promise<number> => {
      const headers = {
        'webhook-id': 'msg_1',
        'webhook-timestamp': String(Math.floor(sentAt.getTime() / 1000)),
        'webhook-signature': signature,
      };
      return (await fetch(`http://${address}`, { method: 'POST', headers, body: sent })).status;
    };
    expect(await eventually('the receiver', () => statusOf(body).catch(() => undefined))).toBe(204);
    expect(await statusOf(`${body} `)).toBe(401);
  });

  const agent = join(folder, 'conformance', 'agent.php');
  trySuite('an agent in PHP', { command: 'php', args: [agent], capabilities: agents['own loop'] });
} else {
  it('is not tried in PHP, which is not installed here', () => undefined);
}

it('the guide shows only code of the examples', () => {
  const unindented = (code: string): string => code.replace(/^[ \t]+/gm, '').trim();
  const examples = readdirSync(join(folder, 'examples')).map((file) =>
    unindented(readFileSync(join(folder, 'examples', file), 'utf8')),
  );
  const guide = readFileSync(join(root, 'docs', 'php.md'), 'utf8');
  const snippets = [...guide.matchAll(/^```php\n([^]*?)^```/gm)].map(([, code = '']) => unindented(code));
  expect(snippets.length).toBeGreaterThan(5);
  expect(snippets.filter((code) => !examples.some((example) => example.includes(code)))).toEqual([]);
});
