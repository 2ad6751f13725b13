import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { pageOn } from '../harness/inbox.js';
import type { Asked, World } from '../harness/inbox.js';

const approveOn = 'button.cs-approve:not([disabled])';

async function seeAll(page: Page): Promise<void> {
  await page.locator('.cs-decision').waitFor();
  await page.waitForTimeout(300);
  await pageOn(page.getByRole('button', { name: 'Show more', exact: true }));
  await page.locator(approveOn).waitFor();
}

/** A step of which the first call is open. */
async function openStep(
  page: Page,
  world: World,
  [first, second]: readonly [string, string],
): Promise<Asked | undefined> {
  const [, other] = await world.ask(
    [
      { toolName: first, arguments: { n: 1 } },
      { toolName: second, toolCallId: second, arguments: { n: 2 } },
    ],
    { batchMode: 'all-or-nothing' },
  );
  await page.getByRole('button', { name: new RegExp(`${first}.*n: 1`, 's') }).click();
  await page.getByRole('list', { name: 'Other calls of the step' }).getByText(second).waitFor();
  await seeAll(page);
  return other;
}

const edit = (world: World, of: Asked | undefined) =>
  world.send('bob', 'POST', `/v1/approvals/${of?.approval?.approvalId ?? ''}/responses`, {
    decision: { type: 'edit', arguments: { n: 77 } },
  });

const focusOf = (page: Page) => page.evaluate('document.activeElement.getAttribute("aria-label")');

const noticeOf = (page: Page) => page.getByRole('alert', { name: 'What has changed in the step' });

/** A reading that fails says nothing of what has changed, so nothing can be approved by it. */
export async function approvesNothingUnread(page: Page, world: World): Promise<void> {
  const other = await openStep(page, world, ['plain_part', 'unread_part']);
  const approve = page.getByRole('button', { name: 'Approve' });
  await approve.focus();
  const failing = new RegExp(`/v1/tool-calls/${other?.callId ?? ''}`);
  await page.route(failing, (route) => route.abort());
  const failed = page.waitForEvent('requestfailed', (request) => failing.test(request.url()));
  await edit(world, other);
  await failed;
  await page.locator('button.cs-approve[disabled]').waitFor({ timeout: 10_000 });
  await page.unroute(failing);
  await noticeOf(page).getByText('77').waitFor({ timeout: 10_000 });
  await noticeOf(page).getByText('Nothing of yours is recorded.').waitFor();
  await noticeOf(page).getByRole('button', { name: 'I have seen the change' }).press('Enter');
  expect(await focusOf(page)).toBe('Your decision');
  await page.locator(approveOn).click();
  await page.getByRole('status').filter({ hasText: 'support-desk#kim approved this' }).waitFor();
}

/** Who has answered already has to know that their answer stands. */
export async function saysThatAnAnswerStands(page: Page, world: World): Promise<void> {
  const other = await openStep(page, world, ['shared', 'changed_part']);
  await page.getByRole('button', { name: 'Approve' }).click();
  await page.getByText('Your answer is recorded.').waitFor();
  await edit(world, other);
  await noticeOf(page).getByText('Your recorded answer stands: take it back if you do not want this.').waitFor();
  await page.getByRole('button', { name: 'Take it back' }).click();
  await noticeOf(page).getByText('Nothing of yours is recorded.').waitFor({ timeout: 10_000 });
  await world.send('agent', 'POST', `/v1/tool-calls/${other?.callId ?? ''}/cancel`, { reason: 'seen' });
}

/** The answer of the server to a press is lost on its way. */
export async function knowsAnAnswerOfItsOwn(page: Page, world: World): Promise<void> {
  await world.ask([{ toolName: 'lost_answer' }]);
  await page.getByRole('button', { name: /lost_answer/ }).click();
  await seeAll(page);
  const responses = /\/responses$/;
  await page.route(responses, async (route) => {
    await route.fetch();
    await route.abort();
  });
  await page.locator(approveOn).press('Enter');
  await page.locator('.cs-problem-line').filter({ hasText: /\w/ }).waitFor();
  await page.getByText('Your own answer was recorded.').waitFor({ timeout: 10_000 });
  await page.unroute(responses);
  expect(await page.evaluate('document.activeElement.getAttribute("role")')).toBe('status');
}
