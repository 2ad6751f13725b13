import { execFile, spawn } from 'node:child_process';
import { randomUUID } from 'node:crypto';
import { cpSync, mkdirSync } from 'node:fs';
import { basename, join } from 'node:path';
import { createInterface } from 'node:readline';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { openWorld, tokenOf, tokenOfDesk, useBrowser } from '../../../test/browser/harness/inbox.ts';
import { freePort } from '../../../test/ports.ts';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from '../../../test/process/harness/cleanup.ts';
import { inheritedEnvironment } from '../../../test/process/harness/environment.ts';

const run = promisify(execFile);
const root = join(import.meta.dirname, '..', '..', '..');
const browser = useBrowser();
cleanUpAfterEach();

/** Installs and builds the example as its README says, next to our packages. Next comes from npm. */
async function buildExample(): Promise<string> {
  const clone = temporaryFolder();
  await run(process.execPath, [join(root, 'scripts', 'pack.mjs'), join(clone, 'packages')]);
  const app = join(clone, 'examples', 'next-chat');
  mkdirSync(app, { recursive: true });
  const isSource = (path: string): boolean => !['node_modules', '.next', '.chats'].includes(basename(path));
  cpSync(join(root, 'examples', 'next-chat'), app, { recursive: true, filter: isSource });
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: '1' };
  await run('npm', ['install', '--prefer-offline', '--no-audit', '--no-fund'], { cwd: app, env });
  await run('npm', ['run', 'build'], { cwd: app, env });
  return app;
}

it('the example of a chat is built by Next, and goes on after an approval', async () => {
  const [world, app] = [await openWorld(), await buildExample()];
  const port = String(await freePort());
  const env = {
    ...{ COUNTERSIGN_URL: world.url, COUNTERSIGN_TOKEN: tokenOf.agent },
    ...{ COUNTERSIGN_RESOLVER_TOKEN: tokenOf.worker, COUNTERSIGN_FRONT_END_TOKEN: tokenOfDesk },
  };
  const next = join(app, 'node_modules', 'next', 'dist', 'bin', 'next');
  const server = spawn(process.execPath, [next, 'start', '--hostname', 'localhost', '--port', port], {
    cwd: app,
    env: { ...inheritedEnvironment(), ...env, NEXT_TELEMETRY_DISABLED: '1' },
    stdio: ['ignore', 'pipe', 'inherit'],
  });
  onCleanup(() => void server.kill());
  await new Promise<void>((resolve, reject) => {
    server.once('exit', (code) => reject(new Error(`the server of Next ended with ${String(code)}`)));
    createInterface(server.stdout).on('line', (line) => /Ready/.test(line) && resolve());
  });
  for (const kind of ['chat', 'langgraph']) {
    const page = await browser().newPage();
    page.setDefaultTimeout(60_000);
    await page.goto(`http://localhost:${port}/${kind}/${randomUUID()}`);
    await page.getByLabel('Message').fill('Refund 51');
    await page.getByRole('button', { name: 'Send' }).click();
    await page.locator('button.cs-approve:not([disabled])').click();
    await page.getByText('(Scripted model) The result of the refund: {"refunded":51}').waitFor();
    expect(await page.getByText(/did not answer/).count()).toBe(0);
    await page.close();
  }
}, 600_000);
