import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { cleanUpAfterEach } from '../process/harness/cleanup.js';
import { eventually } from '../process/harness/wait.js';
import type { Asked, World } from './harness/inbox.js';
import { openInbox, openWorld, useBrowser } from './harness/inbox.js';

const decide = (world: World, as: 'ann' | 'bob', call: Asked | undefined, type: string, reason = 'because') =>
  world.send(as, 'POST', `/v1/approvals/${call?.approval?.approvalId ?? ''}/responses`, { decision: { type }, reason });

/** Requested in alphabetical order, decided in another; the last one waits. */
async function openDecided() {
  const world = await openWorld();
  const names = ['alpha', 'beta', 'gamma', 'delta'];
  const calls = await world.ask(
    names.map((toolName) => ({ toolName, toolCallId: toolName, arguments: { of: toolName } })),
    { runId: 'run-past' },
  );
  await decide(world, 'bob', calls[2], 'approve');
  await decide(world, 'ann', calls[0], 'deny', 'not on a Friday');
  await decide(world, 'bob', calls[1], 'approve');
  return { world, calls };
}

const toolsIn = (page: Page) => page.getByRole('row').getByRole('rowheader').allTextContents();

/** Waits for these rows. The number alone is not enough: rows before the filter may be as many. */
async function showsTools(page: Page, wanted: readonly string[]): Promise<void> {
  await page.getByText(`${wanted.length} decided`).waitFor();
  await eventually('the rows', async () => String(await toolsIn(page)) === String(wanted) || undefined).catch(
    () => undefined,
  );
  expect(await toolsIn(page)).toEqual(wanted);
}

describe('the history', () => {
  cleanUpAfterEach();
  const browser = useBrowser();

  it('shows the latest decision first, searched and narrowed, and takes in what is decided meanwhile', async () => {
    const { world, calls } = await openDecided();
    const { page, complaints } = await openInbox(browser(), world.url);
    await page.getByRole('link', { name: 'History' }).click();
    await showsTools(page, ['beta', 'alpha', 'gamma']);
    await page.getByRole('row', { name: /alpha .* denied ann via the API .* after/ }).waitFor();
    await decide(world, 'ann', calls[3], 'approve');
    await showsTools(page, ['delta', 'beta', 'alpha', 'gamma']);
    await page.getByLabel('Outcome').selectOption('denied');
    await showsTools(page, ['alpha']);
    await page.getByLabel('Outcome').selectOption('');
    for (const [words, left] of [
      ['gamma', ['gamma']],
      ['friday', ['alpha']],
      ['ann', ['delta', 'alpha']],
      ['of beta run-past', ['beta']],
    ] as const) {
      await page.getByLabel('Search', { exact: true }).fill(words);
      await showsTools(page, left);
    }
    await page.getByLabel('Search', { exact: true }).fill('nothing like it');
    await page.getByText('Nothing was decided yet, or nothing fits.').waitFor();
    expect(complaints).toEqual([]);
  });

  it('leads to a call with its timeline and to its run, which follow what happens', async () => {
    const { world, calls } = await openDecided();
    const { page, complaints } = await openInbox(browser(), `${world.url}/history`, 'ann');
    await page.getByRole('link', { name: 'beta' }).click();
    const timeline = page.getByRole('region', { name: 'Timeline' }).getByRole('listitem');
    await timeline.filter({ hasText: 'bob approved via the API: because' }).waitFor();
    const claimed = await world.http.send({
      method: 'POST',
      path: `/v1/tool-calls/${calls[1]?.callId ?? ''}/claim`,
      token: 'worker-token',
      body: { resolverId: 'worker-1' },
    });
    expect(claimed.status).toBe(200);
    await timeline.filter({ hasText: 'worker-1 runs it (attempt 1)' }).waitFor();
    await world.http.send({
      method: 'POST',
      path: `/v1/tool-calls/${calls[1]?.callId ?? ''}/outcome`,
      token: 'worker-token',
      body: { attempt: 1, status: 'succeeded', output: { rows: 3 } },
    });
    await page.getByText('"rows": 3').waitFor();
    await timeline.nth(4).waitFor();
    const types = (await timeline.allTextContents()).map((text) => /\w+$/.exec(text)?.[0]);
    expect(types).toEqual([
      'ToolCallRequested',
      'ApprovalRequested',
      'ApprovalResponded',
      'ExecutionClaimed',
      'ExecutionSucceeded',
    ]);
    await page.getByRole('link', { name: 'run-past' }).click();
    await page.getByRole('heading', { name: 'Run run-past' }).waitFor();
    const stateOf = (tool: string) => page.getByRole('row', { name: tool }).locator('.cs-badge').textContent();
    expect(await Promise.all(['alpha', 'beta', 'gamma', 'delta'].map(stateOf))).toEqual([
      'denied',
      'succeeded',
      'approved',
      'waiting',
    ]);
    await decide(world, 'bob', calls[3], 'deny');
    await page.getByRole('row', { name: /delta .* denied/ }).waitFor();
    expect(complaints).toEqual([]);
  });

  it('is counted in charts: volume, time to decision, and outcomes by tool and by approver', async () => {
    const { world } = await openDecided();
    const { page, complaints } = await openInbox(browser(), `${world.url}/oversight`);
    await page.getByText('3 decided approvals').waitFor();
    const rowsOf = async (title: string) => {
      const chart = page.getByRole('region', { name: title });
      expect(await chart.getByRole('img').locator('rect').count()).toBeGreaterThan(0);
      await chart.getByText('As a table').click();
      const rows = await chart.getByRole('row').all();
      return Promise.all(rows.map(async (row) => (await row.locator('th, td').allTextContents()).join(' ')));
    };
    expect(await rowsOf('Outcome by tool')).toEqual([
      'Tool approved denied expired cancelled total',
      'beta 1 0 0 0 1',
      'alpha 0 1 0 0 1',
      'gamma 1 0 0 0 1',
    ]);
    expect(await rowsOf('Outcome by approver')).toEqual([
      'Approver approved denied expired cancelled total',
      'bob 2 0 0 0 2',
      'ann 0 1 0 0 1',
    ]);
    // Empty columns after it belong to an hour that has just begun.
    const hours = (await rowsOf('Volume')).filter((row) => !row.endsWith(' 0'));
    expect(hours.at(-1)).toMatch(/^\d\d:00 2 1 0 0 3$/);
    const [head, ...times] = await rowsOf('Time to decision');
    expect([head, times[0]]).toEqual(['Time Decisions', expect.stringMatching(/^< 10 s \d$/)]);
    expect(times.map((row) => Number(/\d+$/.exec(row)?.[0])).reduce((sum, count) => sum + count, 0)).toBe(3);
    expect(complaints).toEqual([]);
  });
});
