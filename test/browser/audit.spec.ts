import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { cleanUpAfterEach } from '../process/harness/cleanup.js';
import { eventually } from '../process/harness/wait.js';
import { findingsOf } from './harness/axe.js';
import type { World } from './harness/inbox.js';
import { openInbox, openWorld, tokenOf, useBrowser } from './harness/inbox.js';
import { keepPicture } from './harness/pictures.js';

const secret = 'hunter2-canary';
const hostile = '<img src=x onerror="document.title=1">\u202erm';

async function openDecided(): Promise<World> {
  const world = await openWorld();
  const calls = await world.ask(
    [
      { toolName: 'pay', toolCallId: 'a', arguments: { password: secret, path: hostile } },
      { toolName: 'pay', toolCallId: 'b', arguments: { password: secret }, description: hostile },
      { toolName: `long-${'x'.repeat(180)}`, toolCallId: 'c' },
    ],
    { runId: 'run-1,2' },
  );
  for (const [index, [as, type]] of (
    [
      ['bob', 'deny'],
      ['ann', 'approve'],
    ] as const
  ).entries()) {
    const path = `/v1/approvals/${calls[index]?.approval?.approvalId ?? ''}/responses`;
    await world.send(as, 'POST', path, { decision: { type }, reason: `${hostile} said` });
  }
  return world;
}

const events = (page: Page) => page.getByRole('region', { name: 'Events', exact: true });
const rows = (page: Page) => events(page).getByRole('listitem');
const kindsOf = async (page: Page) => (await rows(page).all()).length;

/** The log as the API gives it. */
async function ask(world: World, query: string) {
  return world.http.send({ method: 'GET', path: `/v1/audit/events?${query}`, token: tokenOf.auditor });
}

/** What the log of record says of reads of clear values. */
async function clearReads(world: World) {
  const { text } = await ask(world, 'types=AuditRead');
  return text.split('\n').filter((line) => line.includes('"clear"'));
}

describe('the log for auditors', () => {
  cleanUpAfterEach();
  const browser = useBrowser();

  it('is searched, walked page by page, kept as a search, and told of a person, a call, a run and a moment', async () => {
    const world = await openDecided();
    for (let n = 0; n < 60; n += 1) await world.ask([{ toolName: 'bulk', toolCallId: `n${String(n)}` }]);
    const { page, complaints } = await openInbox(browser(), `${world.url}/audit?toolName=bulk`, 'auditor');
    await events(page).getByText('100 events, and there is more to look through').waitFor();
    while (await page.getByRole('button', { name: 'Show more' }).isVisible()) {
      const before = await kindsOf(page);
      await page.getByRole('button', { name: 'Show more' }).click();
      await eventually('more events', async () => (await kindsOf(page)) > before || undefined);
    }
    await events(page)
      .getByText(/that is all/)
      .waitFor();
    const { text } = await ask(world, 'toolName=bulk&limit=10000');
    expect(await kindsOf(page)).toBe(text.split('\n').length - 1);

    await page.keyboard.press('/');
    await page.keyboard.type('bob');
    await page.getByLabel('Tool', { exact: true }).fill('');
    await page.getByLabel('Kind of event').selectOption('Responses');
    await page.keyboard.press('Enter');
    await page.getByRole('button', { name: 'Search', exact: true }).click();
    await rows(page).filter({ hasText: 'bob denied via the API' }).waitFor();
    expect(await kindsOf(page)).toBe(1);
    expect(await page.locator('img, iframe').count()).toBe(0);
    expect(await rows(page).textContent()).toContain('⟦U+202E⟧');
    await page.getByLabel('Name of this search').fill('Bob <b>answers</b>');
    await page.getByRole('button', { name: 'Save this search' }).click();

    await rows(page).getByRole('link', { name: 'pay' }).click();
    await rows(page).filter({ hasText: 'bob denied via the API' }).waitFor();
    await rows(page).filter({ hasText: 'ToolCallRequested' }).waitFor();
    await rows(page).getByRole('link', { name: 'run-1,2' }).first().click();
    await rows(page).filter({ hasText: 'ann approved via the API' }).waitFor();
    const time = rows(page).getByRole('time').first();
    expect(await time.getAttribute('title')).toMatch(/ \(.* UTC\)$/);

    await page.reload();
    await page.getByRole('link', { name: 'Bob <b>answers</b>' }).click();
    await events(page).getByText('1 event, that is all').waitFor();
    await page.getByRole('button', { name: 'Forget the search Bob <b>answers</b>' }).click();

    await page.getByLabel('Or a whole day').fill('2020-01-01');
    await events(page).getByText('No event fits this search.').waitFor();
    await page.getByRole('link', { name: 'State at a time' }).click();
    await page.getByRole('heading', { name: '62 open calls' }).waitFor();
    await page
      .getByRole('region', { name: 'Rights' })
      .getByRole('row', { name: /^bob approver/ })
      .waitFor();
    await page.getByLabel(/At this time/).fill('2020-01-01T00:00:00');
    await page.getByRole('button', { name: 'Show', exact: true }).click();
    await page.getByRole('heading', { name: '0 open calls' }).waitFor();

    const report = page.getByRole('region', { name: 'Report' });
    for (const [row, figure, words] of [
      [/^bob 1/, 0, 'bob denied'],
      // Decided, approved, very fast: a zero has no link.
      [/^ann 1/, 2, 'ann approved'],
    ] as const) {
      await page.getByRole('link', { name: 'Oversight' }).click();
      await report.getByRole('row', { name: row }).getByRole('link').nth(figure).click();
      await rows(page).filter({ hasText: words }).waitFor();
      await events(page).getByText('1 event, that is all').waitFor();
    }
    expect(page.url()).toContain('only=fast');
    const [callId] = /tc_\w+/.exec((await ask(world, 'types=ApprovalResponded&limit=1')).text) ?? [];
    await page.goto(`${world.url}/calls/${callId ?? ''}`);
    await page.getByRole('link', { name: 'in the log' }).click();
    await rows(page).filter({ hasText: 'ToolCallRequested' }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('shows clear values only after a step that says that it is recorded, and downloads the bytes of the API', async () => {
    const world = await openDecided();
    const address = `${world.url}/audit?toolName=pay&order=asc`;
    const { page, complaints } = await openInbox(browser(), address, 'auditor', {
      viewport: { width: 390, height: 844 },
    });
    const first = rows(page).filter({ hasText: 'ToolCallRequested' }).first();
    await first.getByText('As recorded').click();
    await first.getByText('"toolName": "pay"').waitFor();
    expect(await page.locator('body').textContent()).not.toContain(secret);
    expect(await page.evaluate<number>('document.documentElement.scrollWidth')).toBeLessThanOrEqual(390);
    expect(await findingsOf(page)).toEqual([]);
    await keepPicture(page, 'audit-phone');
    for (const [name, format] of [
      ['NDJSON', 'ndjson'],
      ['CSV', 'csv'],
      ['OCSF', 'ocsf'],
      ['Parquet', 'parquet'],
    ] as const) {
      const saved = page.waitForEvent('download');
      await page.getByRole('button', { name, exact: true }).click();
      const file = readFileSync(await (await saved).path());
      const answer = await fetch(`${world.url}/v1/audit/events?toolName=pay&order=asc&limit=10000&format=${format}`, {
        headers: { authorization: `Bearer ${tokenOf.auditor}` },
      });
      expect(file.equals(Buffer.from(await answer.arrayBuffer()))).toBe(true);
    }
    expect(await clearReads(world)).toEqual([]);
    await page.getByRole('button', { name: 'Show clear values…' }).click();
    await page
      .getByRole('dialog')
      .getByText(/The log records your name/)
      .waitFor();
    expect(await clearReads(world)).toEqual([]);
    await page.getByRole('button', { name: 'Show and record' }).click();
    await page.getByText('Hidden values are shown in clear. This is recorded.').waitFor();
    await first.getByText('As recorded').click();
    await first.getByText(secret).waitFor();
    await eventually('the record', async () => (await clearReads(world)).length > 0 || undefined);
    // No link carries the permission.
    expect(page.url()).toBe(address);
    await page.reload();
    await first.getByText('As recorded').click();
    await first.getByText('"toolName": "pay"').waitFor();
    expect(await page.locator('body').textContent()).not.toContain(secret);
    expect((await clearReads(world)).join()).toContain('"principal":"auditor"');
    expect(complaints).toEqual([]);
  });

  it('is neither shown nor loaded without the role, and a failed page is read again', async () => {
    const world = await openDecided();
    const { page, complaints } = await openInbox(browser(), world.url, 'bob');
    const asked: string[] = [];
    page.on('request', (request) => asked.push(request.url()));
    await page.goto(`${world.url}/audit`);
    await page.getByText('The log is shown to auditors.').waitFor();
    expect(await page.getByRole('link', { name: 'Log', exact: true }).count()).toBe(0);
    await page.goto(`${world.url}/oversight`);
    await page
      .getByRole('region', { name: 'Report' })
      .getByRole('row', { name: /^bob 1/ })
      .waitFor();
    expect(await page.getByRole('region', { name: 'Report' }).getByRole('link').count()).toBe(0);
    expect(asked.filter((url) => /audit-page|v1\/audit/.test(url))).toEqual([]);
    expect(complaints).toEqual([]);

    const auditor = await openInbox(browser(), world.url, 'auditor');
    await auditor.page.route('**/v1/audit/events*', (route) => route.abort());
    await auditor.page.getByRole('link', { name: 'Log', exact: true }).click();
    await events(auditor.page)
      .getByText(/Countersign did not respond/)
      .waitFor();
    await auditor.page.unroute('**/v1/audit/events*');
    await auditor.page.getByRole('button', { name: 'Try again' }).click();
    await rows(auditor.page).filter({ hasText: 'ann approved via the API' }).waitFor();
  });
});
