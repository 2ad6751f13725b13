import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { cleanUpAfterEach, temporaryFolder } from '../process/harness/cleanup.js';
import { openInbox, openWorld, useBrowser } from './harness/inbox.js';

interface Call {
  readonly arguments: unknown;
  readonly originalArguments: unknown;
}

const policy = `
version: 1
rules:
  - { id: two, then: { require: { quorum: { approve: 2, deny: 2 } } } }
`;

describe('a form of the inbox', () => {
  cleanUpAfterEach();
  const browser = useBrowser();

  it('keeps the line ends of an item that moves to the place of another, and says which words are the agent’s', async () => {
    const world = await openWorld();
    const toolSchema = {
      properties: { steps: { title: 'Checked by ops', description: 'Safe to approve', items: { type: 'string' } } },
    };
    const [call] = await world.ask([{ arguments: { steps: ['one', 'a\nb'], n: '5' }, toolSchema }]);
    const { page } = await openInbox(browser(), world.url);
    await page.getByRole('button', { name: 'Edit…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByText('the agent calls it “Checked by ops”').waitFor();
    await dialog.getByText('The agent says: “Safe to approve”').waitFor();
    expect(await dialog.getByLabel('n text', { exact: true }).inputValue()).toBe('5');
    await dialog.getByRole('button', { name: 'Remove: 0' }).click();
    const first = dialog.locator('.cs-form-group').getByLabel('0 text');
    await first.press('End');
    await first.pressSequentially('x');
    await dialog.getByRole('button', { name: 'Approve these arguments' }).click();
    await page.getByText(/^Approved with your arguments/).waitFor();
    const { arguments: ran } = await world.send<Call>('agent', 'GET', `/v1/tool-calls/${call?.callId ?? ''}`);
    expect([
      { steps: ['ax\nb'], n: '5' },
      { steps: ['a\nbx'], n: '5' },
    ]).toContainEqual(ran);
  });

  it('keeps the chosen answer by its value, and chooses none when an edit takes it away', async () => {
    const file = join(temporaryFolder(), 'policy.yaml');
    writeFileSync(file, policy);
    const world = await openWorld({ COUNTERSIGN_POLICY: file });
    const [call] = await world.ask([{ toolName: 'ask', arguments: { options: ['red', 'green', 1, '1'] } }]);
    const path = `/v1/approvals/${call?.approval?.approvalId ?? ''}/responses`;
    const edit = (options: readonly unknown[]): Promise<unknown> =>
      world.send(options.length > 2 ? 'ann' : 'me', 'POST', path, {
        decision: { type: 'edit', arguments: { options } },
      });
    const { page } = await openInbox(browser(), world.url, 'bob');
    await page.getByRole('button', { name: 'Answer…' }).click();
    const dialog = page.getByRole('dialog');
    expect(await dialog.locator('.cs-answers label').allInnerTexts()).toEqual(['“red”', '“green”', '1', '“1”']);
    await dialog.getByRole('radio', { name: '“green”' }).check();
    await edit(['blue', 'red', 'green']);
    await dialog.getByRole('radio', { name: '“blue”' }).waitFor();
    expect(await dialog.getByRole('radio', { name: '“green”' }).isChecked()).toBe(true);
    await edit(['blue', 'red']);
    await dialog.getByRole('radio', { name: '“green”' }).waitFor({ state: 'detached' });
    expect(await dialog.getByRole('radio', { checked: true }).count()).toBe(0);
    expect(await dialog.getByRole('button', { name: 'Send the answer' }).isDisabled()).toBe(true);
  });
});
