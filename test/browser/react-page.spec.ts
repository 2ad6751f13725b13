import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { beforeAll, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Page } from 'playwright-core';
import { cleanUpAfterAll, onCleanup, temporaryFolder } from '../process/harness/cleanup.js';
import { seedOfRun } from '../process/harness/random.js';
import { findingsOf } from './harness/axe.js';
import { callOf, faultsOf, hostileText } from './harness/hostile-card.js';
import { openWorld, tokenOfDesk, useBrowser } from './harness/inbox.js';
import type { World } from './harness/inbox.js';
import { decideHeadless, deployRule } from './react-page/decide-headless.js';
import { openDesk } from './react-page/desk.js';
import type { Desk } from './react-page/desk.js';
import { approvesNothingUnread, knowsAnAnswerOfItsOwn, saysThatAnAnswerStands } from './react-page/step-changes.js';

const policy = `
version: 1
rules:
  - { id: wires, match: { tools: [wire] }, then: { require: { risk: high } } }
  - ${deployRule}
  - { id: shared, match: { tools: [shared] }, then: { require: { quorum: { approve: 2, deny: 1 } } } }
  - { id: pay, match: { tools: [pay] }, then: { require: { requireSignature: true } } }
`;

describe('the card in a page of another application', () => {
  let world: World;
  let desk: Desk;
  const browser = useBrowser();
  let page: Page;
  const complaints: string[] = [];

  beforeAll(async () => {
    const file = join(temporaryFolder(), 'policy.yaml');
    writeFileSync(file, policy);
    world = await openWorld({ COUNTERSIGN_POLICY: file });
    desk = await openDesk(world.url, tokenOfDesk);
    onCleanup(desk.close);
    page = await (await browser().newContext()).newPage();
    await signIn('kim');
    page.setDefaultTimeout(100_000);
    page.on('console', (message) => message.type() === 'error' && complaints.push(message.text()));
    page.on('pageerror', (error) => complaints.push(error.message));
  });
  cleanUpAfterAll();

  const signIn = (value: string) =>
    page.context().addCookies([{ name: 'user', value, url: desk.url, httpOnly: true, sameSite: 'Strict' }]);

  it('shows what waits, and records the vote of the user as vouched for by the application', async () => {
    const [asked] = await world.ask([{ toolName: 'refund_order', arguments: { orderId: 'A-1', amount: 50 } }]);
    await page.goto(desk.url);
    await page.getByRole('button', { name: /refund_order/ }).click();
    await page.getByRole('heading', { name: 'refund_order' }).waitFor();
    expect(await page.getByText('“A-1”').isVisible()).toBe(true);
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('status').filter({ hasText: 'support-desk#kim approved this' }).waitFor();
    const { events } = await world.send<{ events: readonly { type: string; data: object }[] }>(
      'auditor',
      'GET',
      `/v1/audit/tool-calls/${asked?.callId ?? ''}/events`,
    );
    expect(events.find(({ type }) => type === 'ApprovalResponded')?.data).toMatchObject({
      respondedBy: 'support-desk#kim',
      via: 'support-desk',
      vouchedBy: 'support-desk',
      resolution: 'approved',
    });
  });

  it('says that a call was cancelled while a person looked at it, and takes the buttons away', async () => {
    const [asked] = await world.ask([{ toolName: 'send_email', arguments: { to: 'a@example.com' } }]);
    await page.getByRole('button', { name: /send_email/ }).click();
    const approve = page.getByRole('button', { name: 'Approve' });
    await page.locator('button.cs-approve:not([disabled])').waitFor();
    await world.send('agent', 'POST', `/v1/tool-calls/${asked?.callId ?? ''}/cancel`, { reason: 'not needed' });
    await page.getByText('The call was cancelled').first().waitFor();
    expect(await approve.count()).toBe(0);
  });

  it('edits the arguments in the form, and approves those', async () => {
    const [asked] = await world.ask([{ toolName: 'refund_order', arguments: { orderId: 'A-2', amount: 50 } }]);
    await page.getByRole('button', { name: /A-2/ }).click();
    await page.getByRole('button', { name: 'Edit…' }).click();
    const dialog = page.getByRole('dialog');
    await dialog.getByLabel('amount number', { exact: true }).fill('20');
    await dialog.getByRole('button', { name: 'Approve these arguments' }).click();
    await dialog.waitFor({ state: 'detached' });
    const call = await world.send('auditor', 'GET', `/v1/tool-calls/${asked?.callId ?? ''}`);
    expect(call).toMatchObject({ state: 'approved', arguments: { orderId: 'A-2', amount: 20 } });
    expect(complaints).toEqual([]);
  });

  it('tells nobody that the answer of another person is theirs, after the session of the page has changed', async () => {
    await world.ask([{ toolName: 'shared' }]);
    await page.getByRole('button', { name: /shared/ }).click();
    const approve = page.getByRole('button', { name: 'Approve' });
    const recorded = page.getByText('Your answer is recorded.');
    await approve.focus();
    await page.locator('button.cs-approve:not([disabled])').waitFor();
    await approve.press('Enter');
    await recorded.waitFor();
    // Who cannot see the page is where they were, and not at its top.
    expect(await page.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('Your decision');
    await signIn('mo');
    await page.locator('button.cs-approve:not([disabled])').waitFor({ timeout: 10_000 });
    expect(await recorded.count()).toBe(0);
    await page.context().clearCookies();
    await page.getByText('The list may be old: nobody is signed in.').waitFor({ timeout: 10_000 });
    await signIn('kim');
    await page.getByRole('button', { name: 'Take it back' }).click({ timeout: 10_000 });
    await page.locator('button.cs-approve:not([disabled])').waitFor();
    // The browser complains of each 401.
    complaints.splice(0);
  });

  it('asks to acknowledge what another person changed in a call that runs together with the one on the card', async () => {
    const [, other] = await world.ask(
      [
        { toolName: 'first_part', arguments: { n: 1 } },
        { toolName: 'other_part', toolCallId: 'other', arguments: { n: 2 } },
      ],
      { batchMode: 'all-or-nothing' },
    );
    await page.goto(desk.url);
    await page.getByRole('button', { name: /first_part/ }).click();
    await page.getByRole('list', { name: 'Other calls of the step' }).getByText('other_part').waitFor();
    await page.locator('button.cs-approve:not([disabled])').waitFor();
    // The card does not know of the edit yet.
    let onPressed: () => void = () => undefined;
    const pressed = new Promise<void>((resolve) => (onPressed = resolve));
    const calls = /\/v1\/tool-calls\//;
    await page.route(calls, (route) => pressed.then(() => route.continue()).catch(() => undefined));
    await world.send('bob', 'POST', `/v1/approvals/${other?.approval?.approvalId ?? ''}/responses`, {
      decision: { type: 'edit', arguments: { n: 99 } },
    });
    const approve = page.getByRole('button', { name: 'Approve' });
    await approve.press('Enter');
    await page.locator('.cs-problem-line').getByText('What is asked has changed since').waitFor();
    // It shows the old call, so it stays off until that is read again.
    await page.waitForTimeout(300);
    expect(await approve.isDisabled()).toBe(true);
    expect(await page.evaluate('document.activeElement.getAttribute("aria-label")')).toBe('Your decision');
    // The browser complains of the 409.
    complaints.splice(0);
    onPressed();
    await page.unroute(calls);
    const notice = page.getByRole('alert', { name: 'What has changed in the step' });
    await notice.getByText('99').waitFor({ timeout: 10_000 });
    expect(await page.getByRole('button', { name: 'Approve' }).isDisabled()).toBe(true);
    await notice.getByRole('button', { name: 'I have seen the change' }).click();
    await page.getByRole('list', { name: 'Other calls of the step' }).getByText('99').waitFor();
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByRole('status').filter({ hasText: 'support-desk#kim approved this' }).waitFor();
  });

  it.each([
    ['approves nothing by a reading of the step of which a part failed', approvesNothingUnread],
    ['says that an answer stands when another call of the step changes', saysThatAnAnswerStands],
    ['knows that the recorded answer is its user’s own', knowsAnAnswerOfItsOwn],
  ])('%s', async (_, look) => {
    await page.goto(desk.url);
    await look(page, world);
    complaints.splice(0);
  });

  it('has a background of its own, so that it can be read on a dark page', async () => {
    const color = `getComputedStyle(document.querySelector('.cs-pane')).backgroundColor`;
    expect(await page.evaluate(color)).not.toBe('rgba(0, 0, 0, 0)');
  });

  it('offers no decision that only counts when it is signed, and says where people sign', async () => {
    await world.ask([{ toolName: 'pay' }]);
    await page.getByRole('button', { name: /pay/ }).click();
    await page.getByText('Give yours in the inbox of Countersign.').waitFor({ timeout: 15_000 });
    expect(await page.getByRole('button', { name: /^(Approve|Deny|Edit…|Answer…)$/ }).count()).toBe(0);
  });

  /** Asks, and opens the page. Nothing is left for the next test. */
  const during = async (calls: Parameters<World['ask']>[0], look: () => Promise<void>): Promise<void> => {
    const asked = await world.ask(calls);
    await page.goto(desk.url);
    await look();
    for (const { callId } of asked)
      await world.send('agent', 'POST', `/v1/tool-calls/${callId}/cancel`, { reason: 'seen' });
  };
  const pictureOf = async (tool: string): Promise<string> => {
    await page.getByRole('button', { name: new RegExp(tool) }).click();
    await page.getByRole('heading', { name: tool }).waitFor();
    return (await page.locator('.cs-arguments').first().screenshot()).toString('base64');
  };

  it('draws a blank where a row ends, so that one path and two are two pictures', async () => {
    const command = (blanks: string) => ({ cmd: `rm -rf /srv/${'x'.repeat(40)}/${blanks}etc${'y'.repeat(200)}` });
    const tools = ['blanks_none', 'blanks_one', 'blanks_two'];
    const pictures = new Set<string>();
    const calls = tools.map((toolName, nth) => ({ toolName, arguments: command(' '.repeat(nth)) }));
    await during(calls, async () => {
      for (const tool of tools) pictures.add(await pictureOf(tool));
    });
    expect(pictures.size).toBe(tools.length);
  });

  it.each([1440, 390])('shows each character of any text in any field, or a mark for it (%i px)', async (width) => {
    const [text = ''] = fc.sample(hostileText, { numRuns: 1, seed: seedOfRun() + width });
    await during([callOf(text)], async () => {
      await page.setViewportSize({ width, height: 800 });
      await pictureOf('hostile');
      const more = page.getByRole('button', { name: /they run too$/ });
      if (await more.isVisible()) await more.click();
      expect([text, await faultsOf(page, text)]).toEqual([text, []]);
      await page.setViewportSize({ width: 1280, height: 720 });
    });
  });

  it('inherits nothing that changes how a text reads', async () => {
    const calls = [
      { toolName: 'style_a', arguments: { path: '/srv/a', flag: '-r' } },
      { toolName: 'style_b', arguments: { path: '/srv/A', flag: '-R' } },
    ];
    await during(calls, async () => {
      const styleOf = () =>
        page.evaluate(`(() => {
          const style = getComputedStyle(document.querySelector('.cs-member dd'));
          return [...style].map((name) => name + ': ' + style.getPropertyValue(name));
        })()`);
      await pictureOf('style_a');
      const plain = await styleOf();
      await page.evaluate(`{
        const sheet = new CSSStyleSheet();
        sheet.replaceSync('main { text-transform: uppercase; letter-spacing: 3px; word-spacing: 9px; font-variant: small-caps;' +
          'hyphens: auto; direction: rtl; text-indent: 40px; -webkit-text-security: disc; -webkit-text-fill-color: transparent;' +
          'text-shadow: 3px 0; word-break: break-all; white-space: nowrap; -webkit-text-stroke: 2px }');
        document.adoptedStyleSheets = [sheet];
      }`);
      expect(await styleOf()).toEqual(plain);
      expect(await pictureOf('style_b')).not.toBe(await pictureOf('style_a'));
    });
  });

  it('shows more by one screen at a time where the page itself scrolls', async () => {
    const list = Array.from({ length: 100 }, (_, nth) => `row ${String(nth)}`);
    await during([{ toolName: 'long_list', arguments: { list } }], async () => {
      await page.getByRole('button', { name: /long_list/ }).click();
      await page.getByRole('heading', { name: 'long_list' }).waitFor();
      await page.getByRole('button', { name: 'Show more' }).waitFor();
      const places = await page.evaluate<number[]>(`(async () => {
        const rested = () => new Promise((resolve) => setTimeout(resolve, 400));
        scrollTo(0, document.documentElement.scrollHeight);
        await rested();
        // It has not been between.
        if (document.querySelector('button.cs-approve:not([disabled])') !== null) return [];
        scrollTo(0, 0);
        await rested();
        const places = [0];
        // Pressed where it stands: a mouse would scroll to it first.
        for (let pages = 0; pages < 20; pages += 1) {
          const more = [...document.querySelectorAll('button')].find((one) => one.textContent === 'Show more');
          if (more === undefined) break;
          more.click();
          await new Promise((resolve) => setTimeout(resolve, 200));
          places.push(scrollY / innerHeight);
        }
        return places;
      })()`);
      expect(places.length).toBeGreaterThan(3);
      expect(places.length).toBeLessThan(20);
      places.forEach((place, nth) => expect(place - (places[nth - 1] ?? 0)).toBeLessThan(1));
      expect(await page.locator('button.cs-approve:not([disabled])').count()).toBe(1);
    });
  });

  it('is the application’s own, by the hooks alone', async () => {
    await decideHeadless(page, world, desk.url);
    expect(complaints).toEqual([]);
    await page.goto(desk.url);
  });

  it('is accessible, and breaks no rule of a strict content security policy', async () => {
    await world.ask([{ toolName: 'delete_file', arguments: { path: '/srv/a', deep: { force: true } } }]);
    await page.getByRole('button', { name: /delete_file/ }).click();
    await page.locator('button.cs-approve:not([disabled])').waitFor();
    // Before axe looks: it writes styles of its own.
    expect(complaints).toEqual([]);
    expect(await findingsOf(page)).toEqual([]);
  });

  it('has the highest risk first, also where more wait than the list holds', async () => {
    await world.ask(
      Array.from({ length: 201 }, (_, index) => ({ toolName: 'small', toolCallId: `c${String(index)}` })),
    );
    await world.ask([{ toolName: 'wire' }]);
    await page.getByText('More wait than are shown.').waitFor();
    const first = page.getByRole('region', { name: 'Pending approvals' }).getByRole('button').first();
    await first.filter({ hasText: /wire\s*high risk/ }).waitFor();
  });
});
