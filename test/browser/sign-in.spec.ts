import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { readFileSync, readdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { gzipSync } from 'node:zlib';
import { describe, expect, it } from '@jest/globals';
import { cleanUpAfterEach, onCleanup } from '../process/harness/cleanup.js';
import { eventually } from '../process/harness/wait.js';
import { openInbox, openPage, openWorld, rowOf, tokenOf, useBrowser } from './harness/inbox.js';

/** A page of another origin on this machine. */
async function serveElsewhere(html: string | (() => string)): Promise<string> {
  const server = createServer((_, response) => {
    response.setHeader('content-type', 'text/html').end(typeof html === 'string' ? html : html());
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onCleanup(() => {
    server.closeAllConnections();
    server.close();
  });
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
}

describe('signing in to the inbox', () => {
  cleanUpAfterEach();
  const browser = useBrowser();

  it('takes a token for a session that no script can read, and gives it back', async () => {
    const world = await openWorld();
    const { page, context, complaints } = await openPage(browser(), world.url);
    await page.getByLabel('Token').fill('not-a-token');
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('This token is not valid.').waitFor();
    await eventually('the browser to complain', () => complaints.join().includes('401') || undefined);
    complaints.splice(0);
    await page.getByLabel('Token').fill(tokenOf.ann);
    await page.getByRole('button', { name: 'Sign in' }).click();
    await page.getByText('Nothing waits for an answer.').waitFor();
    const [cookie] = await context.cookies();
    expect(cookie).toMatchObject({ httpOnly: true, sameSite: 'Strict', path: '/', secure: false });
    expect(cookie?.value).not.toContain(tokenOf.ann);
    expect(
      await page.evaluate('document.cookie + JSON.stringify(localStorage) + JSON.stringify(sessionStorage)'),
    ).not.toContain(tokenOf.ann);
    await page.reload();
    await page.getByText('Nothing waits for an answer.').waitFor();
    await page.getByRole('button', { name: 'Sign out' }).click();
    await page.getByLabel('Token').waitFor();
    // The session is over on the server too, not only forgotten here.
    const answer = await fetch(`${world.url}/v1/approvals`, {
      headers: { cookie: `${cookie?.name}=${cookie?.value}` },
    });
    expect(answer.status).toBe(401);
    expect(complaints).toEqual([]);
  });

  it('survives a restart of the server, even one that comes before the page has read anything', async () => {
    const world = await openWorld();
    const { page } = await openInbox(browser(), world.url, 'ann');
    await world.server().stop();
    await page.getByText(/Connection lost/).waitFor();
    await world.restart();
    await page.getByText('Live', { exact: true }).waitFor();
    await world.ask([{ toolName: 'after_restart' }]);
    await rowOf(page, 'after_restart').waitFor();
  });

  it('ends by itself when its token is revoked, for those who only look too', async () => {
    const world = await openWorld();
    await world.ask([{}]);
    const [ann, bob] = await Promise.all([
      openInbox(browser(), world.url, 'ann'),
      openInbox(browser(), world.url, 'bob'),
    ]);
    for (const { page } of [ann, bob]) await page.getByText('Live', { exact: true }).waitFor();
    const left = (JSON.parse(readFileSync(world.tokensFile, 'utf8')) as { principal: string }[]).filter(
      ({ principal }) => principal !== 'ann',
    );
    writeFileSync(world.tokensFile, JSON.stringify(left));
    // The file is checked every 2 s, and the reader of a stream at every heartbeat.
    await ann.page.getByText('Your session is over. Sign in again.').waitFor({ timeout: 100_000 });
    expect(await rowOf(ann.page, 'delete_file').count()).toBe(0);
    await rowOf(bob.page, 'delete_file').waitFor();
    await bob.page.getByText('Live', { exact: true }).waitFor();
  });

  it('is asked for again by a page that the browser has kept, as after Back', async () => {
    const world = await openWorld();
    await world.ask([{}]);
    const { page, context } = await openInbox(browser(), world.url, 'ann');
    await rowOf(page, 'delete_file').waitFor();
    // What the browser kept with the page: no stream is open, so nothing says that the session has ended.
    await page.route('**/v1/**', (route) => route.abort());
    await context.clearCookies();
    await page.evaluate(`window.dispatchEvent(new PageTransitionEvent('pageshow', { persisted: true }))`);
    await page.getByLabel('Token').waitFor();
    expect(await page.content()).not.toContain('delete_file');
  });

  it('lets no other site decide with a person’s session', async () => {
    const world = await openWorld();
    const [call] = await world.ask([{}]);
    const path = `/v1/approvals/${call?.approval?.approvalId ?? ''}/responses`;
    const { context } = await openInbox(browser(), world.url);
    const [cookie] = await context.cookies();
    const post = (headers: Record<string, string>) =>
      fetch(`${world.url}${path}`, {
        method: 'POST',
        headers: { cookie: `${cookie?.name}=${cookie?.value}`, 'content-type': 'application/json', ...headers },
        body: JSON.stringify({ decision: { type: 'approve' } }),
      });
    const ours = { 'countersign-client': 'inbox' };
    const refused = [
      await post({}),
      await post({ ...ours, origin: 'https://evil.example' }),
      await post({ ...ours, origin: 'null' }),
      await post({ ...ours, 'sec-fetch-site': 'cross-site' }),
      await post({ ...ours, 'sec-fetch-site': 'same-site', origin: world.url }),
    ];
    expect(refused.map(({ status }) => status)).toEqual([403, 403, 403, 403, 403]);
    // And as a browser does it: another origin's page, with and without asking first.
    const evil = await context.newPage();
    // Another port is another origin, but the same site: the browser sends even a strict cookie along.
    await evil.goto(await serveElsewhere('<p>hello</p>'));
    const tried = await evil.evaluate(`(async () => {
      const body = JSON.stringify({ decision: { type: 'approve' } });
      const results = [];
      for (const headers of [{ 'content-type': 'text/plain' }, { 'content-type': 'application/json', 'countersign-client': 'inbox' }])
        results.push(await fetch('${world.url}${path}', { method: 'POST', credentials: 'include', headers, body, mode: headers['countersign-client'] ? 'cors' : 'no-cors' }).then((r) => r.type, () => 'blocked'));
      return results;
    })()`);
    expect(tried).toEqual(['opaque', 'blocked']);
    expect(await world.send('agent', 'GET', `/v1/tool-calls/${call?.callId ?? ''}`)).toMatchObject({
      state: 'awaiting_approval',
    });
    expect((await post({ ...ours, origin: world.url, 'sec-fetch-site': 'same-origin' })).status).toBe(200);
  });

  it('lets a page of a configured origin decide with a token, and with no session', async () => {
    const elsewhere = await serveElsewhere('<p>desk</p>');
    const world = await openWorld({ COUNTERSIGN_CORS_ORIGINS: `https://desk.example.com,${elsewhere}` });
    const [call] = await world.ask([{}]);
    const approvalId = call?.approval?.approvalId ?? '';
    const { context } = await openInbox(browser(), world.url);
    const page = await context.newPage();
    const decide = (from: string, init: string) =>
      page.goto(from).then(() =>
        page.evaluate(`fetch('${world.url}/v1/approvals/${approvalId}/responses', { method: 'POST', ${init},
        body: JSON.stringify({ decision: { type: 'approve' } }) }).then(async (answer) => ({ status: answer.status,
        state: (await answer.json()).state, requestId: answer.headers.get('request-id') }), () => 'blocked')`),
      );
    const withSession = `credentials: 'include', headers: { 'content-type': 'application/json', 'countersign-client': 'inbox' }`;
    const withToken = `headers: { authorization: 'Bearer ${tokenOf.ann}', 'content-type': 'application/json',
      'idempotency-key': 'desk-1', 'request-id': 'desk-1' }`;
    expect(await decide(elsewhere, withSession)).toBe('blocked');
    // The same server by a name that is not configured.
    expect(await decide(elsewhere.replace('127.0.0.1', 'localhost'), withToken)).toBe('blocked');
    expect(await world.send('ann', 'GET', `/v1/approvals/${approvalId}`)).toMatchObject({ state: 'pending' });
    expect(await decide(elsewhere, withToken)).toEqual({ status: 200, state: 'approved', requestId: 'desk-1' });
  });

  it('refuses to be framed and runs only its own scripts', async () => {
    const world = await openWorld();
    const { headers, text } = await world.http.send({ method: 'GET', path: '/' });
    expect(headers['content-security-policy']).toBe(
      "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; frame-ancestors 'none'; base-uri 'none'; form-action 'self'",
    );
    expect(headers).toMatchObject({
      'x-frame-options': 'DENY',
      'x-content-type-options': 'nosniff',
      'cache-control': 'no-cache',
    });
    expect(text).not.toMatch(/<style|style=|<script(?![^>]* src=)|javascript:| on\w+=/);
    const { page } = await openPage(browser(), await serveElsewhere(`<iframe src="${world.url}/"></iframe>`));
    expect(page.frames()).toHaveLength(2);
    const frame = page.frames()[1];
    expect(await frame?.locator('#root').count()).toBe(0);
  });

  it('is framed by the pages of a named origin, where people sign in and see what waits, and by those of no other', async () => {
    let url = '';
    const around = (): string => `<iframe src="${url}/" width="900" height="600"></iframe>`;
    const [named, other] = [await serveElsewhere(around), await serveElsewhere(around)];
    const world = await openWorld({ COUNTERSIGN_FRAME_ANCESTORS: new URL(named).origin });
    ({ url } = world);
    await world.ask([{ toolName: 'seen_in_a_frame' }]);
    const { page } = await openPage(browser(), named);
    const inbox = page.frameLocator('iframe');
    await inbox.getByLabel('Token').fill(tokenOf.ann);
    await inbox.getByRole('button', { name: 'Sign in' }).click();
    await inbox.locator('.row').getByText('seen_in_a_frame').waitFor();
    await page.goto(other);
    await eventually('the browser to refuse', () => page.frames()[1]?.url().startsWith('chrome-error:') || undefined);
    expect(await inbox.locator('#root').count()).toBe(0);
  });

  it('serves hashed files for ever, compressed, and nothing else', async () => {
    const world = await openWorld();
    const { text } = await world.http.send({ method: 'GET', path: '/' });
    const asset = /\/assets\/[\w-]+\.js/.exec(text)?.[0] ?? '';
    const answer = await fetch(`${world.url}${asset}`, { headers: { 'accept-encoding': 'br' } });
    expect(answer.headers.get('content-encoding')).toBe('br');
    expect(answer.headers.get('cache-control')).toBe('public, max-age=31536000, immutable');
    expect(answer.headers.get('content-type')).toMatch(/javascript/);
    for (const path of [
      '/assets/..%2f..%2fpackage.json',
      '/assets/none-12345678.js',
      '/assets/',
      '/package.json',
      '/index.html',
    ]) {
      expect((await world.http.send({ method: 'GET', path })).status).toBe(404);
    }
  });

  it('loads at most 272 kB of scripts, gzipped, the editor included, and auditors at most 8 kB more', () => {
    const assets = join(import.meta.dirname, '..', '..', 'apps', 'inbox', 'dist', 'assets');
    const scripts = readdirSync(assets).filter((name) => name.endsWith('.js'));
    // The pages of auditors are loaded for this role alone: test/browser/audit.spec.ts.
    const isOfAuditors = (name: string): boolean => name.startsWith('audit-page-');
    const sizeOf = (names: readonly string[]): number =>
      names.reduce((sum, name) => sum + gzipSync(readFileSync(join(assets, name)), { level: 9 }).length, 0);
    expect(sizeOf(scripts.filter((name) => !isOfAuditors(name)))).toBeLessThan(272_000);
    expect(scripts.filter(isOfAuditors)).toHaveLength(1);
    expect(sizeOf(scripts.filter(isOfAuditors))).toBeLessThan(8_000);
  });
});
