import { describe, expect, it } from '@jest/globals';
import { cleanUpAfterEach } from '../process/harness/cleanup.js';
import { eventually } from '../process/harness/wait.js';
import { openInbox, openWorld, rowOf, useBrowser } from './harness/inbox.js';

describe('a card', () => {
  cleanUpAfterEach();
  const browser = useBrowser();

  it('shows what runs first, then who asks and by which rule, and the agent’s own words last', async () => {
    const world = await openWorld();
    const [call] = await world.ask([
      {
        toolName: 'refund_order',
        arguments: { orderId: 'A-1', amount: 12.5, tags: ['x', 'y'], note: null },
        description: 'Approved by the boss already',
        reason: 'above 10 EUR',
        expiresInMs: 3_600_000,
      },
    ]);
    const { page, context, complaints } = await openInbox(browser(), world.url);
    await page.getByText('needsApproval').first().waitFor();
    await page.getByText('in the inbox alone').waitFor();
    const card = page.getByRole('article');
    expect(await card.getByRole('heading', { level: 3 }).allTextContents()).toEqual([
      'What will run',
      'Who decides',
      'Who asks, and why you',
      'The agent’s own words, not checked',
    ]);
    const text = (await card.innerText()).replaceAll(/\s+/g, ' ');
    for (const words of ['orderId “A-1”', 'amount 12.5', 'tags [“x”, “y”]', 'note null', 'Now 1 approver: none yet'])
      expect(text).toContain(words);
    expect(text).toMatch(
      /59 min left.*Agent billing-agent Asked by agent Run run-\d+ Asked .*Rule needsApproval of policy sha256:/,
    );
    expect(text).toContain(call?.callId);
    expect(text).toMatch(/Told in the inbox alone .* above 10 EUR .* Approved by the boss already$/);
    const line = card.locator('.cs-card-line');
    expect(await line.innerText()).toMatch(
      /^billing-agent · run-\d+ · asked (just now|\d+ s ago) · rule needsApproval$/,
    );
    const age = rowOf(page, 'refund_order').locator('.row-age');
    const before = await age.textContent();
    await eventually('the age to count on', async () => (await age.textContent()) !== before || undefined);
    // Beside each other where there is room for both.
    const [what, who] = ['What will run', 'Who decides'].map((name) => card.getByRole('region', { name }));
    expect((await what?.boundingBox())?.x).toBe((await who?.boundingBox())?.x);
    await page.setViewportSize({ width: 1600, height: 900 });
    const [left, right] = [await what?.boundingBox(), await who?.boundingBox()];
    expect(right?.x).toBeGreaterThan((left?.x ?? 0) + (left?.width ?? 0));
    expect(right?.y).toBe(left?.y);
    await context.grantPermissions(['clipboard-read', 'clipboard-write']);
    const copied = async (name: string) => {
      await page.getByRole('button', { name }).click();
      await page.getByText('Copied', { exact: true }).waitFor();
      return page.evaluate<string>('navigator.clipboard.readText()');
    };
    const asked = { orderId: 'A-1', amount: 12.5, tags: ['x', 'y'], note: null };
    expect(JSON.parse(await copied('Copy the arguments as JSON'))).toEqual(asked);
    await page.goto(`${world.url}/calls/${call?.callId ?? ''}`);
    expect(await copied('Copy the call id')).toBe(call?.callId);
    expect(complaints).toEqual([]);
  });

  it('keeps every space of a name, a label and the arguments of a sibling', async () => {
    const world = await openWorld();
    await world.ask([
      { toolName: 'rm  all', arguments: {}, labels: { cwd: '/srv/a  b' } },
      { toolCallId: 'next', arguments: { path: '/srv/x  y' } },
    ]);
    const { page } = await openInbox(browser(), world.url);
    const card = page.getByRole('article');
    await card.getByRole('heading', { name: 'rm⟦2 spaces⟧all' }).waitFor();
    await card.locator('.cs-sibling-arguments').waitFor();
    const text = await card.innerText();
    for (const words of ['rm⟦2 spaces⟧all', '/srv/a⟦2 spaces⟧b', '/srv/x⟦2 spaces⟧y']) expect(text).toContain(words);
    expect(await rowOf(page, 'rm').innerText()).toContain('rm⟦2 spaces⟧all');
  });

  it('counts hidden values, shows them on request, and records who looked', async () => {
    const world = await openWorld();
    const posing = '[masked sha256:0123456789abcdef]';
    const [call] = await world.ask([{ arguments: { host: 'db-1', password: 'hunter2', command: posing } }]);
    const { page, complaints } = await openInbox(browser(), world.url, 'ann');
    const card = page.getByRole('article');
    await card.getByText('1 value is hidden from you: 1 by its name.').waitFor();
    await card.getByText('text from the agent, not a hidden value').waitFor();
    expect(await page.content()).not.toContain('hunter2');
    await page.getByRole('button', { name: 'Show hidden values (recorded)' }).click();
    await page.getByRole('region', { name: 'Hidden values shown' }).getByText('hunter2').waitFor();
    const events = await world.send<{ events: readonly { type: string; data: Record<string, unknown> }[] }>(
      'auditor',
      'GET',
      `/v1/audit/tool-calls/${call?.callId ?? ''}/events`,
    );
    // Nothing of it stays in the browser.
    const kept = `(async () => [{ ...localStorage }, { ...sessionStorage }, await indexedDB.databases(), await caches.keys()])()`;
    expect(await page.evaluate(kept)).toEqual([
      { 'countersign-theme': 'system', 'countersign-undo-seconds': '0' },
      {},
      [],
      [],
    ]);
    const looks = events.events.filter(({ type }) => type === 'ValuesRevealed');
    expect(looks).toMatchObject([{ data: { revealedBy: 'ann', via: 'inbox', pointers: ['/password'] } }]);
    await page.reload();
    await card.getByText('1 value is hidden from you: 1 by its name.').waitFor();
    expect(await page.content()).not.toContain('hunter2');
    expect(complaints).toEqual([]);
  });

  it('shows edits and contents of files as changes, line by line', async () => {
    const world = await openWorld();
    await world.ask([
      { toolName: 'edit_file', arguments: { path: 'a.txt', old_string: 'one\ntwo\n', new_string: 'one\nthree\n' } },
      { toolName: 'write_file', toolCallId: 'w', arguments: { path: 'b.txt', content: 'first\nsecond\n' } },
    ]);
    const { page } = await openInbox(browser(), world.url);
    const linesOf = (sign: string) =>
      page.locator(`.cs-diff-line[data-sign="${sign}"] .cs-diff-text`).allTextContents();
    await page.getByRole('heading', { name: 'edit_file' }).waitFor();
    await page.locator('.cs-diff-line[data-sign="+"]').first().waitFor();
    expect([await linesOf('-'), await linesOf('+')]).toEqual([['two'], ['three']]);
    await page.keyboard.press('j');
    await page.getByRole('heading', { name: 'write_file' }).waitFor();
    await page.getByText('what would stand in b.txt').waitFor();
    expect([await linesOf('-'), await linesOf('+')]).toEqual([[], ['first', 'second']]);
  });

  it('is light or dark as the system is, or as one chose, also after a reload', async () => {
    const world = await openWorld();
    const { page } = await openInbox(browser(), world.url, 'me', { colorScheme: 'dark' });
    const colour = () => page.evaluate('getComputedStyle(document.body).backgroundColor');
    const [dark, light] = ['rgb(14, 17, 24)', 'rgb(246, 247, 249)'];
    expect(await colour()).toBe(dark);
    await page.emulateMedia({ colorScheme: 'light' });
    expect(await colour()).toBe(light);
    await page.getByRole('button', { name: 'Colours: system' }).click();
    await page.getByRole('button', { name: 'Colours: light' }).click();
    await page.getByRole('button', { name: 'Colours: dark' }).waitFor();
    expect(await colour()).toBe(dark);
    await page.reload();
    await page.getByRole('button', { name: 'Colours: dark' }).waitFor();
    expect(await colour()).toBe(dark);
  });
});
