import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { cleanUpAfterEach } from '../process/harness/cleanup.js';
import { openInbox, openWorld, useBrowser } from './harness/inbox.js';

/** 1280 × 800 at a zoom of 400 %, and a phone. */
const zoomed = { width: 320, height: 200 };
const phone = { width: 390, height: 844 };

/** Whether each of these elements is on screen, by the browser's own measure. */
const onScreen = (page: Page, selector: string) =>
  page.evaluate<readonly boolean[]>(`Promise.all([...document.querySelectorAll(${JSON.stringify(selector)})].map(
    (element) => new Promise((resolve) => {
      new IntersectionObserver(([entry], observer) => {
        observer.disconnect();
        resolve(entry.intersectionRatio > 0.5);
      }).observe(element);
    }),
  ))`);

describe('on a small screen', () => {
  cleanUpAfterEach();
  const browser = useBrowser();

  it('a text is read and approved at a zoom of 400 %, after its labels, and not before its end was on screen', async () => {
    const world = await openWorld();
    const command = Array.from({ length: 40 }, (_, n) => `echo ${String(n)}`).join('\n');
    const [call] = await world.ask([{ arguments: { command }, labels: { cwd: '/srv/production' } }]);
    const { page } = await openInbox(browser(), world.url, 'ann', { viewport: zoomed });
    await page.goto(`${world.url}/approvals/${call?.approval?.approvalId ?? ''}`);
    const approve = page.getByRole('button', { name: 'Approve', exact: true });
    await page.getByText('You can approve it after its end was on screen.').waitFor();
    expect(await approve.isDisabled()).toBe(true);
    const card = await page.getByRole('article').innerText();
    expect(card.indexOf('cwd: /srv/production')).toBeGreaterThan(0);
    expect(card.indexOf('cwd: /srv/production')).toBeLessThan(card.indexOf('echo 0'));
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(zoomed.width);
    const end = page.locator('.cs-diff-line').last();
    while (await approve.isDisabled()) {
      await page
        .getByRole('button', { name: 'Show more' })
        .click({ timeout: 2000 })
        .catch(() => undefined);
      await page.waitForTimeout(100);
    }
    await end.scrollIntoViewIfNeeded();
    expect(await onScreen(page, '.cs-diff-line:last-child')).toEqual([true]);
    await approve.click();
    await page.getByText(/^Approved: delete_file/).waitFor();
  });

  it('many are approved only after their labels were on screen too, which stand below', async () => {
    const world = await openWorld();
    await world.ask(
      [1, 2, 3, 4, 5, 6].map((nth) => ({
        ...{ toolName: 'deploy', toolCallId: `c${String(nth)}`, arguments: { nth } },
        ...{ labels: { cwd: `/srv/production/${String(nth)}` } },
      })),
    );
    const { page } = await openInbox(browser(), world.url, 'ann', { viewport: phone });
    await page.getByRole('button', { name: 'Select all' }).click();
    await page.getByRole('button', { name: 'Review 6 …' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByRole('button', { name: 'Deny 6' }).waitFor();
    const approve = dialog.getByRole('button', { name: 'Approve 6' });
    const labels = '[role="dialog"] tbody td:nth-child(3)';
    await dialog.getByText('You can approve them after the end of each was on screen.').waitFor();
    expect(await approve.isDisabled()).toBe(true);
    for (let pages = 0; pages < 60 && (await approve.isDisabled()); pages += 1)
      await dialog
        .getByRole('button', { name: 'Show more' })
        .click({ timeout: 2000 })
        .catch(() => undefined);
    expect(await onScreen(page, labels)).toContain(true);
    await approve.click();
    await page.getByText('Approved: 6 calls').waitFor();
  });
});
