import { describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { cleanUpAfterEach } from '../process/harness/cleanup.js';
import { findingsOf } from './harness/axe.js';
import type { World } from './harness/inbox.js';
import { openInbox, openPage, openWorld, rowOf, useBrowser } from './harness/inbox.js';
import { keepPicture } from './harness/pictures.js';
import { everydayScenes } from './harness/scenes.js';

async function seed(world: World): Promise<void> {
  for (const scene of everydayScenes) await world.send('agent', 'POST', '/v1/tool-calls', scene);
  const asked = await world.ask([{ toolName: 'decided' }, { toolName: 'refused', toolCallId: 'two' }], {
    runId: 'run-done',
  });
  for (const [index, type] of (['approve', 'deny'] as const).entries()) {
    const path = `/v1/approvals/${asked[index]?.approval?.approvalId ?? ''}/responses`;
    await world.send('bob', 'POST', path, { decision: { type }, reason: 'because' });
  }
}

describe.each(['light', 'dark'] as const)('the inbox in %s', (colorScheme) => {
  cleanUpAfterEach();
  const browser = useBrowser();

  it('has nothing serious for axe to find, on any page or in any dialog', async () => {
    const world = await openWorld();
    await seed(world);
    const found: Record<string, readonly string[]> = {};
    const look = async (page: Page, name: string) => {
      found[name] = await findingsOf(page);
      await keepPicture(page, `${colorScheme}-${name}`);
    };
    const signIn = await openPage(browser(), world.url, { colorScheme });
    await signIn.page.getByLabel('Token').waitFor();
    await look(signIn.page, 'sign-in');
    const { page, complaints } = await openInbox(browser(), world.url, 'me', { colorScheme });
    await rowOf(page, 'edit_file').click();
    await page.getByText('needsApproval').first().waitFor();
    await look(page, 'card');
    await page.getByRole('button', { name: 'Filters' }).click();
    await rowOf(page, 'shell').click();
    await page.getByRole('heading', { name: 'shell' }).waitFor();
    await look(page, 'hostile-card');
    await rowOf(page, 'refund_order').click();
    await page.getByRole('heading', { name: 'refund_order' }).waitFor();
    await page.keyboard.press('e');
    await page.getByText('Fits the tool’s schema.').waitFor();
    await look(page, 'edit');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('r');
    await page.getByRole('dialog').waitFor();
    await look(page, 'answer');
    await page.keyboard.press('Escape');
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.keyboard.press('?');
    await page.getByRole('dialog').waitFor();
    await look(page, 'help');
    await page.keyboard.press('Escape');
    await page.getByRole('button', { name: 'Select all' }).click();
    await page.getByRole('button', { name: /^Review \d/ }).click();
    await page.getByRole('dialog').waitFor();
    await look(page, 'bulk');
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'History' }).click();
    await page.getByRole('link', { name: 'refused' }).waitFor();
    await look(page, 'history');
    await page.getByRole('link', { name: 'refused' }).click();
    await page.getByText('bob denied via the API: because').waitFor();
    await look(page, 'call');
    await page.getByRole('link', { name: 'run-done' }).click();
    await page.getByRole('heading', { name: 'Run run-done' }).waitFor();
    await look(page, 'run');
    await page.getByRole('link', { name: 'Policy' }).click();
    await page.getByLabel('Tool', { exact: true }).fill('delete_file');
    await page.getByRole('button', { name: 'Explain' }).click();
    await page.getByText('It may run without an approval.').waitFor();
    await look(page, 'policy');
    await page.getByRole('link', { name: 'Grants' }).click();
    await page.getByText('No grant holds').waitFor();
    await page.getByRole('button', { name: 'New grant…' }).click();
    await page.getByRole('dialog').waitFor();
    await look(page, 'grants');
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Oversight' }).click();
    await page.getByRole('row', { name: /^bob 2/ }).waitFor();
    await page.getByText('2 decided approvals').waitFor();
    for (const summary of await page.getByText('As a table').all()) await summary.click();
    await look(page, 'insights');
    expect(Object.fromEntries(Object.entries(found).filter(([, findings]) => findings.length > 0))).toEqual({});
    expect(complaints).toEqual([]);
  }, 240_000);
});
