// `npm run pictures`: the pictures of the README and of docs/inbox.md, taken from the real product.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openStand } from './harness/stand.ts';

const folder = join(import.meta.dirname, '..', '..', 'docs', 'pictures');
const data = mkdtempSync(join(tmpdir(), 'countersign-pictures-'));
mkdirSync(folder, { recursive: true });
const stand = await openStand(data);
try {
  await stand.seed();
  for (const colorScheme of ['light', 'dark'] as const) {
    const page = await stand.open({ colorScheme, viewport: { width: 1180, height: 740 } });
    const keep = async (name: string): Promise<void> => {
      await page.mouse.move(0, 0);
      writeFileSync(join(folder, `${name}-${colorScheme}.png`), await page.screenshot({ animations: 'disabled' }));
    };
    await page.getByRole('link', { name: 'edit_file' }).click();
    await page.getByText('needsApproval').first().waitFor();
    await keep('inbox');
    await page.getByRole('link', { name: 'shell' }).click();
    await page.getByRole('heading', { name: 'shell' }).waitFor();
    await page.getByText('needsApproval').first().waitFor();
    if (colorScheme === 'light') await keep('hostile');
    await page.getByRole('link', { name: 'refund_order' }).click();
    await page.getByRole('heading', { name: 'refund_order' }).waitFor();
    await page.keyboard.press('e');
    await page.getByText('Fits the tool’s schema.').waitFor();
    await page.getByRole('dialog').getByLabel('amount').fill('99');
    await page.locator('.cs-diff-line[data-sign="+"]').waitFor();
    await keep('edit');
    await page.keyboard.press('Escape');
    await page.getByRole('link', { name: 'Oversight' }).click();
    await page.getByText(/\d+ decided approvals/).waitFor();
    await keep('insights');
    await page.context().close();
  }
  const phone = await stand.open({ viewport: { width: 390, height: 780 }, isMobile: true, hasTouch: true });
  await phone.getByRole('link', { name: 'refund_order' }).tap();
  await phone.getByText('needsApproval').first().waitFor();
  writeFileSync(join(folder, 'phone-light.png'), await phone.screenshot({ animations: 'disabled' }));
} finally {
  await stand.close();
  rmSync(data, { recursive: true, force: true });
}
