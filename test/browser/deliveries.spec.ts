import { describe, expect, it } from '@jest/globals';
import { openReach } from '../process/channels/reach.js';
import { cleanUpAfterEach } from '../process/harness/cleanup.js';
import { openInbox, openWorld, useBrowser } from './harness/inbox.js';

describe('the list of deliveries', () => {
  cleanUpAfterEach();
  const browser = useBrowser();

  it('stands on the card and in the timeline, as it happens, with what did not arrive', async () => {
    const reach = await openReach(['{ to: [ops-slack, pager] }']);
    reach.hooks.next.push({ status: 500 });
    const world = await openWorld(reach.env);
    const [call] = await world.ask([{ toolName: 'delete_file' }]);
    const { page } = await openInbox(browser(), `${world.url}/approvals/${call?.approval?.approvalId ?? ''}`, 'ann');
    const told = page.getByRole('list', { name: 'Who was told' });
    await told.getByText(/^sent to ops-slack \d\d:\d\d$/).waitFor();
    // The webhook fails once; its later result replaces the failure on the card.
    await told.getByText(/^sent to pager \d\d:\d\d$/).waitFor();
    expect(await told.getByRole('listitem').count()).toBe(2);

    await page.goto(`${world.url}/calls/${call?.callId ?? ''}`);
    await page.getByText('sent to ops-slack', { exact: true }).waitFor();
    await page.getByText(/^pager failed: .*; it will be retried$/).waitFor();
    await page.getByText('sent to pager', { exact: true }).waitFor();
  });

  it('says that the approval is in the inbox alone when no channel delivers it', async () => {
    const world = await openWorld();
    const [call] = await world.ask([{ toolName: 'delete_file' }]);
    const { page } = await openInbox(browser(), `${world.url}/approvals/${call?.approval?.approvalId ?? ''}`, 'ann');
    await page.getByText('in the inbox alone').waitFor();
  });
});
