import { execFile, spawn } from 'node:child_process';
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
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
    ['requests, responses, problems and webhooks are read as they are documented', 'data.php', 9],
    ['a real server asks people, and each call runs once', 'server.php', 18],
  ])('%s', async (_, file, count) => {
    const printed = await runPhp([join(folder, 'tests', 'run.php'), join(folder, 'tests', file)], env);
    expect(printed).toBe(`${String(count)} passed, 0 failed\n`);
  });

  const example = (name: string, args: readonly string[], input?: string): Promise<string> =>
    runPhp([join(folder, 'examples', name), ...args], env, input);

  it('the agent of the guide stops for a person of the application, and goes on in another process', async () => {
    expect(await example('agent.php', ['run-1'])).toMatch(
      /^apr_\w+: Delete \/etc\/hosts\ndelete_file {"path":"\/etc\/hosts"}\nStill needed: 1\n$/,
    );
    expect(await example('agent.php', ['run-1'])).toBe('awaiting_approval\n');
    expect(await example('dialog.php', ['kim', 'approve'])).toContain(
      'delete_file {"path":"/etc/hosts"}\nStill needed: 1\napproved\n',
    );
    for (const _ of ['once', 'again'])
      expect(await example('agent.php', ['run-1'])).toBe('call_1: wrote /tmp/notes\ncall_2: deleted /etc/hosts\n');
  });

  it('the chat of the guide has two phases and no state, and a forged answer approves nothing', async () => {
    const toolCalls = [
      { id: '1', name: 'transfer', arguments: { amount: 5000 } },
      { id: '2', name: 'transfer', arguments: { amount: 5 } },
    ];
    const messages = [
      { role: 'user', content: 'pay' },
      { role: 'assistant', toolCalls },
    ];
    const phase = async (...more: readonly object[]) =>
      JSON.parse(await example('chat.php', ['chat-1', 'kim'], JSON.stringify([...messages, ...more]))) as {
        readonly toolApprovalRequests: readonly {
          readonly approvalId: string;
          readonly digest: string;
          readonly text: string;
        }[];
        readonly refused: object;
        readonly toolResults: object;
      };
    const first = await phase();
    expect(first.toolResults).toEqual({ '1/2': 'sent 5' });
    const answer = (approvalId: string, digest?: string) => ({
      role: 'tool',
      toolApprovalResponses: [{ approvalId, approved: true, digest }],
    });
    const [asked] = first.toolApprovalRequests;
    const { approvalId, digest, text } = asked!;
    expect(text).toContain('{"amount":5000}');
    await expect(phase(answer('apr_forged', digest))).rejects.toThrow('unknown-approval');
    await expect(phase(answer(approvalId))).rejects.toThrow('invalid-request');
    expect(await phase(answer(approvalId, `sha256:${'0'.repeat(64)}`))).toMatchObject({
      toolApprovalRequests: [asked],
      refused: { [approvalId]: expect.stringContaining('look again') },
    });
    // The second time is that of a browser that sends again.
    for (const _ of ['once', 'again'])
      expect(await phase(answer(approvalId, digest))).toEqual({
        toolApprovalRequests: [],
        refused: {},
        toolResults: { '1/1': 'sent 5000', '1/2': 'sent 5' },
        stopReason: null,
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
