import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { cleanUpAfterEach, temporaryFolder } from '../process/harness/cleanup.js';
import { openInbox, openWorld, pageOn, useBrowser } from './harness/inbox.js';

/** 1280 × 800 at a zoom of 400 %, and a phone. */
const zoomed = { width: 320, height: 200 };
const phone = { width: 390, height: 844 };

/** Names without a place to break, and texts that are longer than the screen. */
const long = 'send_money_to_a_supplier_of_the_northern_branch_by_wire_transfer_without_delay';
const policy = `
version: 1
approvers:
  - id: ann
    groups: [ops]
    delegates: [{ to: bob, from: "2026-01-01T00:00:00Z", until: "2126-01-01T00:00:00Z" }]
    identities: { email: "ann.of.the.northern.branch@accounting.example.com" }
  - { id: bob, groups: [ops] }
rules:
  - { id: wires, match: { tools: ['send_money*'] }, when: 'args.path.startsWith("/srv/${long}/")', then: { block: "no" } }
  - { id: rest, then: { require: { risk: high } } }
`;

/** The parts that a person would have to scroll to the side: text that is cut, and buttons that lie outside of the screen. */
const tooWide = (page: Page) =>
  page.evaluate<
    readonly string[]
  >(`[...document.querySelectorAll('html, main, .table-scroll, button')].flatMap((element) => {
    const { left, right } = element.getBoundingClientRect();
    const isOut = right > innerWidth + 0.5 || left < -0.5;
    const isCut = element.tagName !== 'BUTTON' && element.scrollWidth > element.clientWidth;
    return isOut || isCut ? [element.tagName + '.' + element.className + ' ' + element.textContent.slice(0, 30)] : [];
  })`);

/** The names of cells that run into the cell below. */
const overlapping = (page: Page) =>
  page.evaluate<readonly string[]>(`[...document.querySelectorAll('td, tbody th')].flatMap((cell) => {
    const { content, height } = getComputedStyle(cell, '::before');
    return parseFloat(height) > cell.clientHeight ? [content] : [];
  })`);

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
    await page.getByText('You can approve it once all of it was on screen.').waitFor();
    expect(await approve.isDisabled()).toBe(true);
    const card = await page.getByRole('article').innerText();
    expect(card.indexOf('cwd: /srv/production')).toBeGreaterThan(0);
    expect(card.indexOf('cwd: /srv/production')).toBeLessThan(card.indexOf('echo 0'));
    expect(await page.evaluate('document.documentElement.scrollWidth')).toBe(zoomed.width);
    const end = page.locator('.cs-diff-line').last();
    await pageOn(page.getByRole('button', { name: 'Show more' }));
    await end.scrollIntoViewIfNeeded();
    expect(await onScreen(page, '.cs-diff-line:last-child')).toEqual([true]);
    await approve.click();
    await page.getByText(/^Approved: delete_file/).waitFor();
  });

  it('has values in many others within the screen, and a bar before each line of a text but not before the rows of one', async () => {
    const world = await openWorld();
    const inside = (levels: number): object =>
      levels === 0 ? { path: '/etc/passwd', all: ['x', {}] } : { k: inside(levels - 1) };
    const script = `# ${'-'.repeat(200)}\nrm -rf /srv/data`;
    const [call] = await world.ask([{ arguments: { ...inside(55), script } }]);
    const { page } = await openInbox(browser(), world.url, 'ann', { viewport: phone });
    await page.goto(`${world.url}/approvals/${call?.approval?.approvalId ?? ''}`);
    const value = page.getByText('“/etc/passwd”');
    await value.scrollIntoViewIfNeeded();
    const { x, width } = (await value.boundingBox()) ?? { x: 0, width: 0 };
    expect(width).toBeGreaterThan(100);
    expect(x + width).toBeLessThan(phone.width);
    expect(await page.evaluate('document.querySelector(".cs-pane-scroll").scrollWidth')).toBeLessThanOrEqual(
      phone.width,
    );
    expect(await page.locator('.cs-diff-sign').allInnerTexts()).toEqual(['│', '│']);
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
    await dialog.getByText('You can approve them once all of each was on screen.').waitFor();
    expect(await approve.isDisabled()).toBe(true);
    await pageOn(dialog.getByRole('button', { name: 'Show more' }));
    expect(await onScreen(page, labels)).toContain(true);
    await approve.click();
    await page.getByText('Approved: 6 calls').waitFor();
  });

  it.each([{ width: 1440, height: 500 }, { width: 880, height: 700 }, phone])(
    'the table of many calls is not wider than its dialog, whatever the tools are called: %j',
    async (viewport) => {
      const world = await openWorld();
      const call = { toolName: `any_${long}_and_again`, arguments: { command: `rm -rf /srv/${long}` } };
      await world.ask([call, { ...call, toolCallId: 'second', labels: { cwd: `/srv/${long}` } }], { agentId: long });
      const { page } = await openInbox(browser(), world.url, 'ann', { viewport });
      await page.getByRole('button', { name: 'Select all' }).click();
      await page.getByRole('button', { name: 'Review 2 …' }).click();
      await page.getByRole('button', { name: 'Deny 2' }).waitFor();
      const cut = `[...document.querySelectorAll('[role="dialog"], [role="dialog"] :is(.table-scroll, td, th)')].flatMap(
        (part) => part.scrollWidth > part.clientWidth ? [part.textContent] : [])`;
      expect(await page.evaluate(cut)).toEqual([]);
    },
  );

  it('each page is as wide as a phone, its buttons lie inside, and no name of a cell covers another', async () => {
    const file = join(temporaryFolder(), 'policy.yaml');
    writeFileSync(file, policy);
    const world = await openWorld({ COUNTERSIGN_POLICY: file });
    const grant = { toolName: long, match: { any: true }, expiresInMs: 3_600_000, reason: 'x'.repeat(200) };
    await world.send('bob', 'POST', '/v1/grants', grant);
    const call = { toolName: `${long}_now`, arguments: { path: `/srv/${long}` } };
    const [lost] = await world.ask([call], { runId: `run-${long}` });
    await world.ask([{ ...call, toolCallId: 'waits' }], { runId: `run-${long}` });
    const answer = `/v1/approvals/${lost?.approval?.approvalId ?? ''}/responses`;
    await world.send('bob', 'POST', answer, { decision: { type: 'approve' }, reason: 'y'.repeat(200) });
    await world.send('worker', 'POST', `/v1/tool-calls/${lost?.callId ?? ''}/claim`, { resolverId: 'w', leaseMs: 1 });
    const { page, complaints } = await openInbox(browser(), world.url, 'me', { viewport: phone, hasTouch: true });
    await page.getByRole('link', { name: 'Unknown 1' }).waitFor();
    const wide: Record<string, readonly string[]> = {};
    for (const [path, words] of [
      ['/history', `${long}_now`],
      ['/grants', 'Revoke'],
      ['/unknown', 'Reconcile…'],
      [`/runs/run-${long}`, '2 calls by'],
      ['/policy', 'ann.of.the.northern'],
      [`/policy/${lost?.callId ?? ''}`, 'What each rule says'],
      [`/calls/${lost?.callId ?? ''}`, 'Timeline'],
      ['/audit/state', '2 people of the policy'],
      ['/audit', `run-${long}`],
      ['/oversight', 'Approved within 2 s'],
      ['/passkeys', 'Passkeys'],
      ['/', `${long}_now`],
    ] as const) {
      await page.goto(world.url + path);
      await page.getByText(words).first().waitFor();
      wide[path] = [...(await tooWide(page)), ...(await overlapping(page))];
    }
    expect(wide).toEqual(Object.fromEntries(Object.keys(wide).map((path) => [path, []])));
    expect(complaints).toEqual([]);
  });
});
