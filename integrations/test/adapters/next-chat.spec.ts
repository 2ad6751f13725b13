import { randomUUID } from 'node:crypto';
import { beforeAll, describe, expect, it } from '@jest/globals';
import type { Page } from 'playwright-core';
import { openWorld, tokenOf, tokenOfDesk, useBrowser } from '../../../test/browser/harness/inbox.ts';
import { cleanUpAfterAll } from '../../../test/process/harness/cleanup.ts';
import { complaintsOfExample, copyExample, serveExample } from './chat-app.ts';

describe('the example of a chat in Next', () => {
  let app: Awaited<ReturnType<typeof serveExample>>;
  const browser = useBrowser();

  beforeAll(async () => {
    copyExample();
    const world = await openWorld();
    app = await serveExample({
      COUNTERSIGN_URL: world.url,
      COUNTERSIGN_TOKEN: tokenOf.agent,
      COUNTERSIGN_RESOLVER_TOKEN: tokenOf.worker,
      COUNTERSIGN_FRONT_END_TOKEN: tokenOfDesk,
    });
  });
  cleanUpAfterAll();

  const open = async (path: string): Promise<Page> => {
    const page = await browser().newPage();
    page.setDefaultTimeout(60_000);
    await page.goto(app.url + path);
    return page;
  };
  const send = async (page: Page, text: string): Promise<void> => {
    await page.getByLabel('Message').fill(text);
    await page.getByRole('button', { name: 'Send' }).click();
    await page.getByRole('heading', { name: 'refund', exact: true }).waitFor();
  };

  it('has no error of types', async () => {
    expect(await complaintsOfExample()).toBe('');
  });

  it.each([
    ['chat', 51],
    ['langgraph', 52],
  ])(
    '%s goes on after an approval, also of a page that was loaded again, and runs the tool once',
    async (kind, amount) => {
      const page = await open(`/${kind}/${randomUUID()}`);
      await send(page, `Refund ${String(amount)}`);
      await page.reload();
      await page.locator('button.cs-approve:not([disabled])').click();
      await page.getByText(`(Scripted model) The result of the refund: {"refunded":${String(amount)}}`).waitFor();
      expect(app.printed.filter((line) => line === `refunded ${String(amount)}`)).toHaveLength(1);
      // In the same conversation, and answered in another tab.
      await send(page, 'Refund 70');
      const other = await open(new URL(page.url()).pathname);
      await other.getByLabel('Reason').fill('too much');
      await other.getByRole('button', { name: 'Deny' }).click();
      for (const tab of [other, page]) await tab.getByText(/^\(Scripted model\).*did not run: too much$/).waitFor();
      expect(app.printed).not.toContain('refunded 70');
    },
  );
});
