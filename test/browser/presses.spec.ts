import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { Locator, Page } from 'playwright-core';
import { cleanUpAfterEach, temporaryFolder } from '../process/harness/cleanup.js';
import { openInbox, openWorld, tokenOf, useBrowser } from './harness/inbox.js';
import type { Asked, World } from './harness/inbox.js';

const policy = `
version: 1
rules:
  - { id: two, then: { require: { quorum: { approve: 2, deny: 2 } } } }
`;

interface Approval {
  readonly state: string;
  readonly responses: readonly { readonly respondedBy: string }[];
}

const responders = async (world: World, call: Asked | undefined): Promise<readonly string[]> => {
  const path = `/v1/approvals/${call?.approval?.approvalId ?? ''}`;
  return (await world.send<Approval>('me', 'GET', path)).responses.map(({ respondedBy }) => respondedBy);
};

/** The second press of a double click, on what stands there by now. */
async function pressAgain(page: Page, target: Locator): Promise<void> {
  const box = await target.boundingBox();
  if (box === null) throw new Error('it is not on screen');
  await page.mouse.move(box.x + box.width / 2, box.y + box.height / 2);
  await page.mouse.down({ clickCount: 2 });
  await page.mouse.up({ clickCount: 2 });
  // Long enough for a request to be sent; a slow machine finds less, not more.
  await page.waitForTimeout(300);
}

describe('a press', () => {
  cleanUpAfterEach();
  const browser = useBrowser();

  it.each(['Approve', 'Deny'])(
    'that is the second of a double click on %s decides nothing on the next card',
    async (name) => {
      const world = await openWorld();
      const [first, second] = await world.ask([{ toolName: 'first' }, { toolName: 'second', toolCallId: 'second' }]);
      const { page } = await openInbox(browser(), world.url, 'bob');
      await page.getByRole('heading', { name: 'first' }).waitFor();
      const button = page.getByRole('button', { name, exact: true });
      await button.click();
      await page.getByRole('heading', { name: 'second' }).waitFor();
      await page.locator('button.cs-approve:not([disabled])').waitFor();
      await pressAgain(page, button);
      expect(await responders(world, first)).toEqual(['bob']);
      expect(await responders(world, second)).toEqual([]);
      await button.click();
      await page.getByText('Nothing waits for an answer.').waitFor();
      expect(await responders(world, second)).toEqual(['bob']);
    },
  );

  it('that is the second of a double click does not take the vote of the first one back', async () => {
    const file = join(temporaryFolder(), 'policy.yaml');
    writeFileSync(file, policy);
    const world = await openWorld({ COUNTERSIGN_POLICY: file });
    const [call] = await world.ask([{ toolName: 'wire' }]);
    const { page } = await openInbox(browser(), world.url, 'bob');
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    const takeBack = page.getByRole('button', { name: 'Take it back' });
    await pressAgain(page, takeBack);
    expect(await responders(world, call)).toEqual(['bob']);
    await takeBack.click();
    await page.getByRole('button', { name: 'Approve', exact: true }).waitFor();
    expect(await responders(world, call)).toEqual([]);
  });

  it('that is the second of a double click does not revoke a grant', async () => {
    const world = await openWorld();
    const body = { toolName: 'ship', match: { any: true }, expiresInMs: 3_600_000, reason: 'busy' };
    const { grantId } = await world.send<{ grantId: string }>('bob', 'POST', '/v1/grants', body);
    const { page } = await openInbox(browser(), world.url, 'bob');
    await page.getByRole('link', { name: 'Grants' }).click();
    await page.getByRole('button', { name: 'Revoke' }).click();
    const again = page.getByRole('button', { name: 'Press again to revoke' });
    await pressAgain(page, again);
    const stateNow = async () => (await world.send<{ state: string }>('bob', 'GET', `/v1/grants/${grantId}`)).state;
    expect(await stateNow()).toBe('active');
    await again.click();
    await page.getByText('No grant holds').waitFor();
    expect(await stateNow()).toBe('revoked');
  });

  it('decides nothing on a page of another person than the one who is signed in by now', async () => {
    const world = await openWorld();
    const [call] = await world.ask([{ toolName: 'wire' }]);
    const { page, context } = await openInbox(browser(), world.url, 'bob');
    await page.locator('button.cs-approve:not([disabled])').waitFor();
    const other = await context.newPage();
    await other.goto(world.url);
    await other.getByRole('button', { name: 'Sign out' }).click();
    await other.getByLabel('Token').fill(tokenOf.ann);
    await other.getByRole('button', { name: 'Sign in' }).click();
    await other.getByRole('navigation', { name: 'Main' }).waitFor();
    // The page may have noticed already that the session of bob is over.
    await page
      .getByRole('button', { name: 'Approve', exact: true })
      .click({ timeout: 1000 })
      .catch(() => undefined);
    await page.getByText('Your session is over. Sign in again.').waitFor();
    expect(await responders(world, call)).toEqual([]);
  });
});
