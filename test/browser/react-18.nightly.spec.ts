import { execFile } from 'node:child_process';
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { expect, it } from '@jest/globals';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from '../process/harness/cleanup.js';
import { openWorld, tokenOfDesk, useBrowser } from './harness/inbox.js';
import { decideHeadless, deployRule } from './react-page/decide-headless.js';
import { openDesk } from './react-page/desk.js';

const run = promisify(execFile);
const browser = useBrowser();
cleanUpAfterEach();

// The bounds of the peer range below 19. They come from npm.
it.each(['18.2.0', '18.3.1'])('the card and the hooks run on React %s', async (version) => {
  const app = temporaryFolder();
  writeFileSync(join(app, 'package.json'), '{ "private": true }');
  const options = ['--prefer-offline', '--no-audit', '--no-fund'];
  await run('npm', ['install', ...options, `react@${version}`, `react-dom@${version}`], { cwd: app });
  const file = join(app, 'policy.yaml');
  writeFileSync(file, `version: 1\nrules:\n  - ${deployRule}\n`);
  const world = await openWorld({ COUNTERSIGN_POLICY: file });
  const desk = await openDesk(world.url, tokenOfDesk, join(app, 'node_modules'));
  onCleanup(desk.close);
  const context = await browser().newContext();
  await context.addCookies([{ name: 'user', value: 'kim', url: desk.url, httpOnly: true, sameSite: 'Strict' }]);
  const page = await context.newPage();
  const errors: string[] = [];
  page.on('pageerror', (error) => errors.push(error.message));
  await decideHeadless(page, world, desk.url);
  expect(await page.locator('main[data-react]').getAttribute('data-react')).toBe(version);
  await world.ask([{ toolName: 'refund_order', arguments: { orderId: 'A-1' } }]);
  await page.goto(desk.url);
  await page.getByRole('button', { name: /refund_order/ }).click();
  await page.getByRole('button', { name: 'Edit…' }).click();
  const dialog = page.getByRole('dialog');
  await dialog.getByLabel('orderId text', { exact: true }).fill('A-2');
  await dialog.getByRole('button', { name: 'Approve these arguments' }).click();
  await page.getByRole('status').filter({ hasText: 'support-desk#kim approved this' }).waitFor();
  expect(errors).toEqual([]);
});
