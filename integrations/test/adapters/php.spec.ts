import { execFile, spawn } from 'node:child_process';
import { existsSync, mkdirSync, readdirSync, readFileSync, symlinkSync, writeFileSync } from 'node:fs';
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
import { installDesk } from './php-desk.ts';

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
      LOOK_ALIKES: join(root, 'test', 'cases', 'look-alikes.json'),
      WEBHOOK_SECRETS: join(root, 'libs', 'channels', 'src', 'testing', 'webhook-secrets.json'),
      TMPDIR: temporaryFolder(),
    };
  });

  it.each([
    ['JSON of PHP is that of the ledger, and a claim of anything but what was approved is refused', 'json.php', 9],
    ['requests, responses, problems and webhooks are read as they are documented', 'data.php', 15],
    ['a real server asks people, and each call runs once', 'server.php', 24],
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
    const own = 'The agent\'s own words (untrusted: judge by the arguments above):\nDescription: "Delete /etc/hosts"\n';
    const shown = `delete_file {"path":"/etc/hosts"}\nRequested by support-desk\nStill needed: 1\n${own}`;
    expect((await text(typed(run).stdout)).replace(/apr_\w+/, 'apr_1')).toBe(
      `apr_1: ${shown}${shown}approved\ncall_1: wrote /tmp/notes\ncall_2: deleted /etc/hosts\n`,
    );
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

if (missing(['Composer with ext-zip']).length === 0) {
  it('Composer installs the package of the clone and the zip file, as the guide says, and finds its classes', async () => {
    const guide = readFileSync(join(root, 'docs', 'php.md'), 'utf8');
    const [given = ''] = /(?<=^```json\n)[^]*?(?=^```)/m.exec(guide) ?? [];
    const [zip = ''] = /(?<=^```sh\n)[^]*?(?=^```)/m.exec(guide) ?? [];
    const place = temporaryFolder();
    symlinkSync(root, join(place, 'countersign'));
    const app = join(place, 'app');
    mkdirSync(app);
    const env = { ...process.env, COMPOSER_HOME: join(place, 'home'), COMPOSER_ALLOW_SUPERUSER: '1' };
    const run = (command: string) =>
      promisify(execFile)('bash', ['-euo', 'pipefail', '-c', command], { cwd: app, env });
    await run(zip);
    const { repositories, require } = JSON.parse(given) as { repositories: object[]; require: object };
    for (const repository of [...repositories, { type: 'artifact', url: 'packages' }]) {
      // Nothing else is asked for it.
      const settings = { repositories: [repository, { 'packagist.org': false }], require };
      writeFileSync(join(app, 'composer.json'), JSON.stringify(settings));
      await run('rm -rf vendor composer.lock && composer update --no-interaction --no-progress --quiet');
      const classes = "require 'vendor/autoload.php'; echo json_encode(class_exists('Countersign\\\\Gate'));";
      expect((await run(`php -r "${classes}"`)).stdout).toBe('true');
    }
    expect(existsSync(join(app, 'vendor', 'countersign', 'countersign', 'LICENSE'))).toBe(true);
  });
} else {
  it('is not installed with Composer, which is not there', () => undefined);
}
