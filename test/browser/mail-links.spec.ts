import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { Browser, Page } from 'playwright-core';
import { openReach } from '../process/channels/reach.js';
import { cleanUpAfterEach } from '../process/harness/cleanup.js';
import { freePort } from '../ports.js';
import { eventually } from '../process/harness/wait.js';
import { findingsOf } from './harness/axe.js';
import { openPage, openWorld, tokenOf, useBrowser } from './harness/inbox.js';
import type { World } from './harness/inbox.js';
import { keepPicture } from './harness/pictures.js';

/** A question, and the links of the mail that a real server received about it. */
async function openMailed(policy = 'version: 1') {
  const reach = await openReach(['{ to: [mail] }']);
  const port = await freePort();
  const file = join(reach.folder, 'policy.yaml');
  writeFileSync(file, policy);
  const env = { ...reach.env, COUNTERSIGN_POLICY: file, COUNTERSIGN_PUBLIC_URL: `http://127.0.0.1:${String(port)}` };
  const world = await openWorld(env, port);
  const [call] = await world.ask([
    { toolName: 'delete_file', arguments: { path: '/еtc/hosts\u202e' }, description: 'x' },
  ]);
  await eventually('the mail', () => reach.mail.raw.length > 0 || undefined);
  const [mail] = await reach.mail.mails();
  const urlsIn = (text: string): string[] => text.match(/https?:\/\/[^\s"'<>)]+/g) ?? [];
  const links = [...new Set([...urlsIn(mail?.text ?? ''), ...urlsIn(mail?.html ?? '')])];
  const link = links.find((one) => new URL(one).pathname.startsWith('/a/'));
  if (link === undefined) throw new Error(`no link in ${mail?.text ?? 'no mail'}`);
  return { world, callId: call?.callId ?? '', link, links };
}

const stateOf = async (world: World, callId: string): Promise<unknown> =>
  (await world.send('agent', 'GET', `/v1/tool-calls/${callId}`))['state'];

/** Acts like a link scanner on an email: opens every link, runs its scripts, submits its forms, follows its links. */
async function scan(browser: Browser, links: readonly string[]): Promise<number> {
  const seen = new Set<string>();
  const waiting = [...links];
  while (waiting.length > 0 && seen.size < 50) {
    const link = waiting.shift() ?? '';
    if (seen.has(link) || !link.startsWith('http://127.0.0.1')) continue;
    seen.add(link);
    for (const method of ['HEAD', 'GET', 'OPTIONS']) await fetch(link, { method, redirect: 'manual' });
    const { page, context } = await openPage(browser, link);
    await untilQuiet(page);
    await page.evaluate(`
      for (const form of document.forms) form.requestSubmit();
      for (const button of document.querySelectorAll('button')) button.click();
    `);
    await untilQuiet(page);
    const found = await page.evaluate<string[]>(
      `[...document.querySelectorAll('a[href], script[src]')].map((one) => one.href ?? one.src)`,
    );
    waiting.push(...found);
    await context.close();
  }
  return seen.size;
}

/** Scanners wait for a limited time: a page may keep a connection open. */
async function untilQuiet(page: Page): Promise<void> {
  await page.waitForLoadState('networkidle', { timeout: 3_000 }).catch(() => undefined);
}

async function signIn(page: Page, as: keyof typeof tokenOf): Promise<void> {
  await page.getByLabel('Token').fill(tokenOf[as]);
  await page.getByRole('button', { name: 'Sign in' }).click();
}

/** Double clicks and two quick clicks on the button, at a phone's width: what the first one shows must not take the second. */
async function clickTwice(page: Page): Promise<void> {
  await page.setViewportSize({ width: 390, height: 844 });
  const approve = page.getByRole('button', { name: 'Approve', exact: true });
  const places = [12, 34].map((y) => ({ x: 90, y }));
  for (const position of places) {
    await page.evaluate(`document.querySelector('#confirm').hidden = true`);
    await approve.dblclick({ position });
    await page.evaluate(`document.querySelector('#confirm').hidden = true`);
    const { x, y } = (await approve.boundingBox()) ?? { x: 0, y: 0 };
    // Two taps of which the second is none of a double click.
    for (const clickCount of [1, 1]) await page.mouse.click(x + position.x, y + position.y, { clickCount });
  }
}

/** The lengths of a path after whose hyphen a blank changes nothing that is seen, in any part of the page. */
const unseenBlanks = `['headline', 'status', 'arguments', 'change', 'warnings', 'facts', 'words'].flatMap((id) => {
  const part = document.getElementById(id);
  const [own, isHidden] = [part.textContent, part.hidden];
  const placeOf = (text) => {
    part.textContent = text;
    const range = document.createRange();
    range.setStart(part.firstChild, text.indexOf('etc'));
    range.setEnd(part.firstChild, text.length);
    return JSON.stringify([...range.getClientRects()]);
  };
  part.hidden = false;
  const unseen = Array.from({ length: 70 }, (_, n) => 'x'.repeat(n)).filter(
    (start) => placeOf(start + '-etc' + 'y'.repeat(70)) === placeOf(start + '- etc' + 'y'.repeat(70)),
  );
  [part.textContent, part.hidden] = [own, isHidden];
  return unseen.length === 0 ? [] : [id + ' ' + unseen.length];
})`;

describe('the link of a mail', () => {
  cleanUpAfterEach();
  const browser = useBrowser();

  it('changes nothing however often scanners open it, and still lets the person decide, once', async () => {
    const { world, callId, link, links } = await openMailed();
    expect(await scan(browser(), links)).toBeGreaterThan(1);
    expect(await stateOf(world, callId)).toBe('awaiting_approval');

    const mine = await openPage(browser(), link);
    await signIn(mine.page, 'me');
    await mine.page.getByText('May delete_file run?').waitFor();
    // The email's own card: look-alikes and invisible characters are marked, and the agent's words come last.
    const card = await mine.page.locator('#card').innerText();
    expect(card).toContain('/⟦U+0435⟧tc/hosts⟦U+202E⟧');
    expect(card.indexOf('/⟦U+0435⟧tc')).toBeLessThan(card.indexOf("The agent's own words"));
    await keepPicture(mine.page, 'mail-link');
    expect(await mine.page.evaluate(unseenBlanks)).toEqual([]);
    expect(await findingsOf(mine.page)).toEqual([]);
    // A script that runs in the session of the right person, an extension of the browser say, presses no button for them.
    await mine.page.evaluate(`document.querySelector('button[value=approve]')?.click()`);
    await mine.page.evaluate(`document.querySelector('#answer')?.requestSubmit()`);
    await mine.page.reload();
    await mine.page.getByText('It is waiting for your answer.').waitFor();
    expect(await stateOf(world, callId)).toBe('awaiting_approval');
    await mine.page.getByRole('link', { name: 'Open it in the inbox' }).click();
    await mine.page.getByRole('button', { name: 'Edit…' }).waitFor();
    await mine.page.goBack();
    await mine.page.getByText('It is waiting for your answer.').waitFor();
    // Enter in a form's field presses its first button: here it would approve what a reason is just written against.
    await mine.page.getByLabel('Reason').fill('no, this is fraud');
    await mine.page.getByLabel('Reason').press('Enter');
    await untilQuiet(mine.page);
    expect(await stateOf(world, callId)).toBe('awaiting_approval');
    await mine.page.getByRole('button', { name: 'Approve' }).click();
    await mine.page.getByText('It is approved.').waitFor();
    expect(await world.send('agent', 'GET', `/v1/tool-calls/${callId}`)).toMatchObject({
      state: 'approved',
      approval: { responses: [{ respondedBy: 'me', via: 'mail' }] },
    });

    await mine.page.reload();
    await mine.page.getByText('It is approved.').waitFor();
    expect(await mine.page.getByRole('button', { name: 'Approve' }).isVisible()).toBe(false);
  }, 240_000);

  it('holds an approval of high risk, waits for a reason that is needed, and has no button after its person has answered', async () => {
    const require = '{ quorum: { approve: 2 }, risk: high, requireReason: [deny] }';
    const { world, callId, link } = await openMailed(
      `version: 1\nrules: [{ id: two, match: { tools: [delete_file] }, then: { require: ${require} } }]\n`,
    );
    const { page } = await openPage(browser(), link);
    await signIn(page, 'me');
    await page.getByText('It is waiting for your answer.').waitFor();
    const deny = page.getByRole('button', { name: 'Deny' });
    expect(await deny.isDisabled()).toBe(true);
    await page.getByLabel('Reason (needed to deny)').fill('no');
    expect(await deny.isDisabled()).toBe(false);
    await clickTwice(page);
    await page.getByText('High risk. Hold the button for a second, or confirm:').waitFor();
    expect(await findingsOf(page)).toEqual([]);
    expect(await stateOf(world, callId)).toBe('awaiting_approval');
    await page.getByRole('button', { name: 'Approve', exact: true }).click({ delay: 1_500 });
    await page.getByText('You have answered. It waits for others.').waitFor();
    await page.getByText('me approved via mail: "no"').waitFor();
    expect(await page.getByRole('button').filter({ visible: true }).count()).toBe(0);
    expect(await stateOf(world, callId)).toBe('awaiting_approval');
  }, 60_000);

  it('opens only for its recipient, and says so', async () => {
    const { world, callId, link } = await openMailed();
    const theirs = await openPage(browser(), link);
    await signIn(theirs.page, 'bob');
    await theirs.page.getByText('this link is not for you').waitFor();
    expect(await theirs.page.getByRole('button', { name: 'Approve' }).isVisible()).toBe(false);
    expect(await stateOf(world, callId)).toBe('awaiting_approval');
  });
});
