import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
import { delimiter, dirname, join } from 'node:path';
import { text } from 'node:stream/consumers';
import { promisify } from 'node:util';
import { beforeAll, expect, it, jest } from '@jest/globals';
import { Webhook } from 'standardwebhooks';
import { missing } from '../../../test/clients/tools.ts';
import { freePort } from '../../../test/ports.ts';
import { cleanUpAfterAll, onCleanup, temporaryFolder } from '../../../test/process/harness/cleanup.js';
import { install, type Installation } from '../../../test/process/harness/standalone.js';
import { eventually } from '../../../test/process/harness/wait.js';
import { agents } from './agents.ts';
import { trySuite } from './kit-suite.ts';

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

const policy = `version: 1
rules: [{ id: refunds, match: { tools: [refund] }, then: { require: { quorum: { approve: 2, of: [support, ops] } } } }]
`;

/** A server with an agent, a worker, and a front end in PHP. */
async function installDesk(): Promise<Installation> {
  const place = temporaryFolder();
  const entry = (principal: string, roles: readonly string[], more = {}) => ({
    token: `${principal}-token`,
    principal,
    roles,
    ...more,
  });
  const tokens = [
    entry('agent', ['agent'], { agentIds: ['*'] }),
    entry('me', ['approver']),
    entry('worker', ['resolver']),
    entry('support-desk', ['agent', 'front-end'], { people: { groups: ['support', 'ops'] } }),
  ];
  mkdirSync(join(place, 'data'), { mode: 0o700 });
  writeFileSync(join(place, 'data', 'tokens.json'), JSON.stringify(tokens), { mode: 0o600 });
  writeFileSync(join(place, 'policy.yaml'), policy);
  return install({ COUNTERSIGN_POLICY: join(place, 'policy.yaml') }, place);
}

interface Phase {
  readonly toolApprovalRequests: readonly {
    readonly approvalId: string;
    readonly digest: string;
    readonly text: string;
  }[];
  readonly toolResults: object;
}

/** Serves the page of the chat, to two users who are signed in. */
async function openChat(env: Readonly<Record<string, string>>) {
  const [port, sessions, conversation] = [await freePort(), temporaryFolder(), randomUUID()];
  for (const user of ['kim', 'lou']) {
    const values = { user, conversation: `${user}-${conversation}` };
    const session = Object.entries(values).map(([name, value]) => `${name}|s:${String(value.length)}:"${value}";`);
    writeFileSync(join(sessions, `sess_${user}`), session.join(''));
  }
  const address = `127.0.0.1:${String(port)}`;
  const settings = ['-d', `session.save_path=${sessions}`];
  const server = spawn('php', [...settings, '-S', address, join(folder, 'examples', 'chat.php')], {
    env: { ...process.env, ...env },
    stdio: 'ignore',
  });
  onCleanup(() => void server.kill('SIGKILL'));
  const send = (body: unknown, headers: Readonly<Record<string, string>>) =>
    fetch(`http://${address}`, {
      method: 'POST',
      headers: { 'content-type': 'application/json', cookie: 'PHPSESSID=kim', ...headers },
      body: JSON.stringify(body),
    });
  await eventually('the page', () => send([], { cookie: '' }).catch(() => undefined));
  return {
    statusOf: async (headers: Readonly<Record<string, string>>) => (await send([], headers)).status,
    post: async (messages: readonly object[], user = 'kim') => {
      const answer = await send(messages, { cookie: `PHPSESSID=${user}` });
      return (await answer.json()) as Phase;
    },
  };
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
      NUMBERS: join(root, 'test', 'cases', 'numbers.json'),
      WEBHOOK_SECRETS: join(root, 'libs', 'channels', 'src', 'testing', 'webhook-secrets.json'),
      COUNTERSIGN_URL: `http://127.0.0.1:${String(port)}`,
      COUNTERSIGN_TOKEN: 'support-desk-token',
      COUNTERSIGN_RESOLVER_TOKEN: tokens.worker,
      TMPDIR: temporaryFolder(),
    };
  });

  it.each([
    ['JSON of PHP is that of the ledger, and a claim of anything but what was approved is refused', 'json.php', 8],
    ['requests, responses, problems and webhooks are read as they are documented', 'data.php', 10],
    ['a real server asks people, and each call runs once', 'server.php', 18],
    ['a tool gets its arguments by name alone, and a call without them fails by itself', 'arguments.php', 1],
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
    const shown = 'delete_file {"path":"/etc/hosts"}\nStill needed: 1\n';
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
    const answer = { approvalId: asked?.approvalId, digest: asked?.digest, approved: true };
    const denial = { approvalId: other?.approvalId, digest: other?.digest, approved: false, reason: 'too much' };
    const lou = await chat.post(
      [
        { role: 'assistant', id: 'msg_1', toolCalls: [toolCalls[2]] },
        { role: 'tool', toolApprovalResponses: [answer] },
      ],
      'lou',
    );
    expect(lou).toMatchObject({ refused: {}, toolResults: { 'msg_1/0': 'sent 5' }, stopReason: null });

    const forged = [
      { ...answer, digest: undefined },
      { ...denial, approved: true, digest: `sha256:${'0'.repeat(64)}` },
    ];
    expect(await phase({ role: 'tool', toolApprovalResponses: forged })).toMatchObject({
      toolApprovalRequests: [asked, other],
      refused: { [asked!.approvalId]: 'invalid-request', [other!.approvalId]: 'digest-mismatch' },
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
    const [{ approvalId, digest }] = toolApprovalRequests as unknown as [{ approvalId: string; digest: string }];
    const sent = { role: 'tool', toolApprovalResponses: [{ approvalId, digest, approved: true }] };
    expect((await chat.post([assistant, sent])).toolResults).toEqual({
      'msg_2/0': 'sent 5000',
      'msg_2/1': 'The call was cancelled before it ran: the user did not respond, so it counts as denied',
    });
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
