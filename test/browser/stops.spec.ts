import { describe, expect, it } from '@jest/globals';
import type { StopsView } from '@countersign/contracts';
import { cleanUpAfterEach } from '../process/harness/cleanup.js';
import { openInbox, openWorld, useBrowser } from './harness/inbox.js';

describe('the red button', () => {
  cleanUpAfterEach();
  const browser = useBrowser();

  it('stops every call once it was held, and every page says so until the stop is lifted', async () => {
    const world = await openWorld();
    const { page, complaints } = await openInbox(browser(), world.url, 'me');
    await page.getByRole('button', { name: 'Stop', exact: true }).click();
    await page.getByLabel(/^Why/).fill('the agents pay twice');
    const hold = page.getByRole('button', { name: 'Hold to stop' });
    // A short press stops nothing.
    await hold.click();
    await page.getByRole('button', { name: 'Stop all calls', exact: true }).waitFor();
    expect(await world.send<StopsView>('me', 'GET', '/v1/stops')).toEqual({ stops: [] });
    await hold.hover();
    await page.mouse.down();
    await page.getByRole('dialog').waitFor({ state: 'detached' });
    await page.mouse.up();
    const banner = page.getByText(/^Stopped: all calls, by me .*: the agents pay twice/);
    await banner.waitFor();
    await expect(world.ask([{ needsApproval: false }])).rejects.toThrow('"code":"stopped"');
    const { page: other } = await openInbox(browser(), world.url, 'bob');
    await other.getByText(/^Stopped: all calls, by me/).waitFor();
    expect(await other.getByRole('button', { name: 'Stop', exact: true }).count()).toBe(0);
    const { stops } = await world.send<StopsView>('me', 'GET', '/v1/stops');
    await world.send('me', 'POST', `/v1/stops/${stops[0]?.stopId ?? ''}/lift`, { reason: 'mended' });
    await page.reload();
    await page.getByRole('button', { name: 'Stop', exact: true }).waitFor();
    await banner.waitFor({ state: 'detached' });
    expect(complaints).toEqual([]);
  });
});
