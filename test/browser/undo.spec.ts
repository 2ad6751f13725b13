import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { cleanUpAfterEach, temporaryFolder } from '../process/harness/cleanup.js';
import { eventually } from '../process/harness/wait.js';
import type { Asked, World } from './harness/inbox.js';
import { openInbox, openWorld, rowOf, tokenOf, useBrowser } from './harness/inbox.js';

const policy = `
version: 1
rules:
  - { id: wires, match: { tools: [wire] }, then: { require: { risk: high } } }
  - { id: two, match: { tools: [ship] }, then: { require: { quorum: { approve: 2 } } } }
  - { id: soon, match: { tools: [soon] }, then: { require: { expiresIn: 40s } } }
`;

async function openPoliced() {
  const file = join(temporaryFolder(), 'policy.yaml');
  writeFileSync(file, policy);
  return openWorld({ COUNTERSIGN_POLICY: file });
}

const responders = async (world: World, call: Asked | undefined): Promise<readonly string[]> => {
  const path = `/v1/approvals/${call?.approval?.approvalId ?? ''}`;
  const { responses } = await world.send<{ responses: { respondedBy: string }[] }>('me', 'GET', path);
  return responses.map(({ respondedBy }) => respondedBy);
};

const answered = (world: World, call: Asked | undefined, by: string) =>
  eventually(`the answer of ${by}`, async () => (await responders(world, call)).includes(by) || undefined);

describe('a decision that can be undone', () => {
  cleanUpAfterEach();
  const browser = useBrowser();

  it('is held for five seconds, goes back to its card with u, is sent when the page is left, and not when it changed', async () => {
    const world = await openPoliced();
    const [first, second] = await world.ask([{ toolName: 'one' }, { toolName: 'two', toolCallId: 'two' }]);
    const [ship] = await world.ask([{ toolName: 'ship', arguments: { to: 'Rome' } }]);
    const { page, complaints } = await openInbox(browser(), world.url, 'ann', { undoSeconds: '20' });
    const approve = page.getByRole('button', { name: 'Approve', exact: true });
    const notSent = page.getByRole('region', { name: 'Not sent yet' });
    await page.getByRole('heading', { name: 'one', level: 2 }).waitFor();
    await approve.click();
    // The next card is there at once, and nothing is recorded.
    await page.getByRole('heading', { name: 'two', level: 2 }).waitFor();
    await notSent.getByText('Approving one').waitFor();
    expect(await rowOf(page, 'one').count()).toBe(0);
    await page.keyboard.press('u');
    await page.getByRole('heading', { name: 'one', level: 2 }).waitFor();
    expect(await notSent.innerText()).toBe('');
    expect(await responders(world, first)).toEqual([]);
    // Another person edits what ann has approved, before it is sent.
    await rowOf(page, 'ship').click();
    await page.getByRole('heading', { name: 'ship', level: 2 }).waitFor();
    await approve.click();
    await notSent.getByText('Approving ship').waitFor();
    const edit = { decision: { type: 'edit', arguments: { to: 'Oslo' } } };
    await world.send('bob', 'POST', `/v1/approvals/${ship?.approval?.approvalId ?? ''}/responses`, edit);
    await notSent.getByText('It changed before your answer was sent. Nothing was sent: look at it again.').waitFor();
    expect(await responders(world, ship)).toEqual(['bob']);
    await notSent.getByRole('button', { name: 'Close' }).click();
    await rowOf(page, 'two').click();
    await page.getByRole('heading', { name: 'two', level: 2 }).waitFor();
    await page.getByRole('button', { name: 'Deny' }).click();
    await notSent.getByText('Denying two').waitFor();
    await page.goto(`${world.url}/healthz`);
    await answered(world, second, 'ann');
    const short = await openInbox(browser(), world.url, 'bob', { undoSeconds: '5' });
    await short.page.getByRole('heading', { name: 'one', level: 2 }).waitFor();
    await short.page.getByRole('button', { name: 'Approve', exact: true }).click();
    await short.page.getByText('Approved: one').waitFor();
    expect(await responders(world, first)).toEqual(['bob']);
    expect([...complaints, ...short.complaints]).toEqual([]);
  });

  it('brings back no answer that its person withdrew meanwhile on another device', async () => {
    const world = await openPoliced();
    const [call] = await world.ask([{ toolName: 'ship' }]);
    const { page } = await openInbox(browser(), world.url, 'ann', { undoSeconds: '5' });
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    const notSent = page.getByRole('region', { name: 'Not sent yet' });
    await notSent.getByText('Approving ship').waitFor();
    const path = `/v1/approvals/${call?.approval?.approvalId ?? ''}/responses`;
    await world.send('ann', 'POST', path, { decision: { type: 'approve' } });
    await fetch(`${world.url}${path}/mine`, { method: 'DELETE', headers: { authorization: `Bearer ${tokenOf.ann}` } });
    await notSent.getByRole('button', { name: 'Close' }).waitFor();
    expect(await responders(world, call)).toEqual([]);
  });

  it('is sent at once where the deadline is near', async () => {
    const world = await openPoliced();
    const [call] = await world.ask([{ toolName: 'soon' }]);
    const { page } = await openInbox(browser(), world.url, 'ann', { undoSeconds: '20' });
    await page.getByRole('button', { name: 'Approve', exact: true }).click();
    await page.getByText('Approved: soon').waitFor();
    expect(await responders(world, call)).toEqual(['ann']);
  });

  it('of high risk is held down, or confirmed at another place: a click, a key and a repeated key decide nothing', async () => {
    const world = await openPoliced();
    const [call, next] = await world.ask([{ toolName: 'wire' }, { toolName: 'wire', toolCallId: 'next' }]);
    const { page, complaints } = await openInbox(browser(), world.url, 'ann');
    const approve = page.getByRole('button', { name: 'Approve', exact: true });
    const confirm = page.getByRole('button', { name: 'Approve wire' });
    await approve.dblclick();
    await confirm.waitFor();
    await page.keyboard.press('a');
    for (const key of ['Enter', 'Enter', 'Space']) await page.keyboard.press(key);
    expect(await responders(world, call)).toEqual([]);
    const focused = page.locator('button:focus', { hasText: 'Approve wire' });
    do await page.keyboard.press('Shift+Tab');
    while ((await focused.count()) === 0);
    await page.keyboard.press('Enter');
    await answered(world, call, 'ann');
    await page.getByText('1 shown').waitFor();
    await page.locator('.cs-hold:not([disabled])').waitFor();
    await approve.hover();
    await page.mouse.down();
    await answered(world, next, 'ann');
    await page.mouse.up();
    expect(complaints).toEqual([]);
  });
});
