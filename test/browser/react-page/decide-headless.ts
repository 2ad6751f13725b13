import { expect } from '@jest/globals';
import type { Page } from 'playwright-core';
import { eventually } from '../../process/harness/wait.js';
import type { World } from '../harness/inbox.js';

/** The policy of the call of `decideHeadless`. */
export const deployRule =
  '{ id: deploys, match: { tools: [deploy] }, then: { require: { quorum: { approve: 2, deny: 1 } } } }';

interface Read {
  readonly state: string;
  readonly responses: readonly {
    readonly respondedBy: string;
    readonly reason: string | null;
    readonly counted: boolean;
  }[];
}

/** A person votes, takes the vote back, and agrees to the edit of another one after they have seen it. */
export async function decideHeadless(page: Page, world: World, url: string): Promise<void> {
  const [asked] = await world.ask([{ toolName: 'deploy', arguments: { to: 'staging' } }]);
  const path = `/v1/approvals/${asked?.approval?.approvalId ?? ''}`;
  const counted = async () => {
    const { responses } = await world.send<Read>('me', 'GET', path);
    return responses.filter((one) => one.counted).map(({ respondedBy }) => respondedBy);
  };
  await page.goto(`${url}/headless`);
  const card = page.getByRole('region', { name: 'deploy' });
  const press = (name: string) => card.getByRole('button', { name }).click();
  await press('Yes');
  await press('Take it back');
  await card.getByRole('button', { name: 'Yes' }).waitFor();
  expect(await counted()).toEqual([]);
  const edit = { decision: { type: 'edit', arguments: { to: 'production' } } };
  await world.send('bob', 'POST', `${path}/responses`, edit);
  await card.getByText('production').waitFor();
  // What has changed since the person looked is not decided by a press that was meant for what was there before.
  await press('Yes');
  await page.waitForTimeout(300);
  expect(await counted()).toEqual(['bob']);
  await press('I have seen the change');
  await press('Yes');
  await card.getByRole('status').filter({ hasText: 'approved' }).waitFor();
  const { responses } = await eventually('both', async () => {
    const read = await world.send<Read>('me', 'GET', path);
    return read.state === 'approved' ? read : undefined;
  });
  expect(responses.at(-1)).toMatchObject({ respondedBy: 'support-desk#kim', reason: 'a card of its own' });
}
