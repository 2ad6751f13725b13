import { writeFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { beforeEach, describe, expect, it, jest } from '@jest/globals';
import { Provider } from 'oidc-provider';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from '../process/harness/cleanup.js';
import { findingsOf } from '../process/harness/verified-folder.js';
import { freePort } from '../ports.js';
import { openPage, openWorld, rowOf, useBrowser } from './harness/inbox.js';

/** An OpenID Connect provider on this machine: the typed name becomes the person. */
async function startProvider(redirectUri: string, audience: string): Promise<string> {
  const server = createServer();
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const rolesOf: Readonly<Record<string, readonly string[]>> = {
    alice: ['approver', 'owner-of-everything'],
    mallory: ['owner'],
  };
  const provider = new Provider(issuer, {
    clients: [
      {
        client_id: 'countersign',
        client_secret: 'a-secret-of-the-client',
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'client_credentials'],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    claims: { openid: ['sub', 'roles', 'groups'] },
    conformIdTokenClaims: false,
    pkce: { required: () => true },
    findAccount: (_, id) => ({
      accountId: id,
      claims: () => ({ sub: id, roles: rolesOf[id] ?? [], groups: ['ops'] }),
    }),
    features: {
      clientCredentials: { enabled: true },
      resourceIndicators: {
        enabled: true,
        defaultResource: () => audience,
        useGrantedResource: () => true,
        getResourceServerInfo: () => ({ scope: 'openid', audience, accessTokenFormat: 'jwt', accessTokenTTL: 600 }),
      },
    },
    extraTokenClaims: () => ({ roles: ['agent'] }),
    cookies: { keys: ['one', 'two'] },
    ttl: { Session: 600, Interaction: 600, Grant: 600, AccessToken: 600, IdToken: 600 },
  });
  provider.on('server_error', (_, error) => {
    throw error;
  });
  server.on('request', provider.callback());
  onCleanup(() => {
    server.closeAllConnections();
    server.close();
  });
  return issuer;
}

describe('signing in at an OpenID Connect provider', () => {
  cleanUpAfterEach();
  const browser = useBrowser();
  beforeEach(() => {
    // It warns that it keeps everything in memory, which is what a test wants.
    for (const level of ['warn', 'info'] as const) jest.spyOn(console, level).mockReturnValue(undefined);
  });

  const openBoth = async () => {
    // The provider must know where Countersign is before it starts, and the other way round.
    const gatewayPort = await freePort();
    const audience = 'https://countersign.example/api';
    const issuer = await startProvider(`http://127.0.0.1:${gatewayPort}/session/oidc/callback`, audience);
    const secretFile = join(temporaryFolder(), 'secret');
    writeFileSync(secretFile, 'a-secret-of-the-client\n', { mode: 0o600 });
    const world = await openWorld(
      {
        COUNTERSIGN_OIDC_ISSUER: issuer,
        COUNTERSIGN_OIDC_CLIENT_ID: 'countersign',
        COUNTERSIGN_OIDC_CLIENT_SECRET_FILE: secretFile,
        COUNTERSIGN_OIDC_AUDIENCE: audience,
      },
      gatewayPort,
    );
    return { world, issuer, audience };
  };

  const signInAs = async (url: string, name: string) => {
    const opened = await openPage(browser(), url);
    let callback = '';
    opened.page.on('request', (request) => {
      if (new URL(request.url()).pathname === '/session/oidc/callback') callback = request.url();
    });
    await opened.page.getByRole('link', { name: 'Sign in with your organisation' }).click();
    await opened.page.locator('input[name="login"]').fill(name);
    await opened.page.locator('input[name="password"]').fill('any');
    await opened.page.getByRole('button', { name: 'Sign-in' }).click();
    const running = await opened.context.cookies(new URL('/session', url).href);
    await opened.page.getByRole('button', { name: 'Continue' }).click();
    await opened.page.getByRole('navigation', { name: 'Main' }).waitFor();
    return { ...opened, running, callback: new URL(callback) };
  };

  it('lets a person decide, as issuer and subject, by the roles that the provider names and we know', async () => {
    const { world, issuer } = await openBoth();
    const [call] = await world.ask([{ toolName: 'delete_file' }]);
    const { page, context, running } = await signInAs(
      `${world.url}/approvals/${call?.approval?.approvalId ?? ''}`,
      'alice',
    );
    await page.getByRole('heading', { name: 'delete_file' }).waitFor();
    const cookies = await context.cookies(`${world.url}/session`);
    expect(cookies.find(({ name }) => name === 'countersign_session')).toMatchObject({
      httpOnly: true,
      sameSite: 'Strict',
    });
    const signIn = ({ name }: { readonly name: string }): boolean => name === 'countersign_sign_in';
    expect(running.find(signIn)).toMatchObject({ httpOnly: true, sameSite: 'Lax' });
    // It is valid once.
    expect(cookies.find(signIn)).toBeUndefined();
    await page.getByRole('button', { name: 'Approve' }).click();
    await page.getByText('Approved: delete_file').waitFor();
    expect(await world.send('agent', 'GET', `/v1/tool-calls/${call?.callId ?? ''}`)).toMatchObject({
      state: 'approved',
      approval: { responses: [{ respondedBy: `${issuer}#alice`, via: 'inbox' }] },
    });
    expect(await findingsOf(world.dataFolder)).toEqual([]);
  });

  it('gives a person without a role that we know no rights at all', async () => {
    const { world } = await openBoth();
    await world.ask([{ toolName: 'delete_file' }]);
    const { page } = await signInAs(world.url, 'mallory');
    await page.getByText(/signed in as http:.*#mallory, with no role/).waitFor();
    expect(await rowOf(page, 'delete_file').count()).toBe(0);
  });

  it('takes an answer only from the browser that began, and only once', async () => {
    const { world } = await openBoth();
    const { context, callback } = await signInAs(world.url, 'alice');
    const statusOf = async (url: URL, cookie = '') => (await fetch(url, { headers: { cookie } })).status;
    expect((await context.request.get(callback.href)).status()).toBe(403);
    expect(await statusOf(callback)).toBe(403);
    // A sign-in that another person began, with an unused code of hers.
    const begun = await fetch(`${world.url}/session/oidc`, { redirect: 'manual' });
    const state = new URL(begun.headers.get('location') ?? '').searchParams.get('state') ?? '';
    callback.searchParams.set('state', state);
    expect(await statusOf(callback, begun.headers.get('set-cookie')?.split(';')[0])).toBe(403);
  });

  it('is offered again when a session is over', async () => {
    const { world } = await openBoth();
    await world.ask([{}]);
    const { page, context } = await signInAs(world.url, 'alice');
    await page.getByRole('button', { name: 'Approve' }).waitFor();
    await context.request.delete(`${world.url}/session`, { headers: { 'countersign-client': 'inbox' } });
    const isOver = page.getByText('Your session is over. Sign in again.').waitFor();
    // The page may have noticed by itself, and then the button is gone.
    const pressed = page.getByRole('button', { name: 'Approve' }).click();
    pressed.catch(() => undefined);
    await Promise.race([isOver, pressed.then(() => isOver)]);
    await page.getByRole('link', { name: 'Sign in with your organisation' }).waitFor();
  });

  it('takes access tokens for its audience as bearer tokens, and no others', async () => {
    const { world, issuer, audience } = await openBoth();
    const answer = await fetch(`${issuer}/token`, {
      method: 'POST',
      body: new URLSearchParams({
        grant_type: 'client_credentials',
        client_id: 'countersign',
        client_secret: 'a-secret-of-the-client',
        resource: audience,
      }),
    });
    const { access_token: token } = (await answer.json()) as { access_token: string };
    const request = (bearer: string) =>
      world.http.send({
        method: 'POST',
        path: '/v1/tool-calls',
        token: bearer,
        body: { runId: 'oidc-run', calls: [{ toolCallId: 'c', toolName: 't', arguments: {} }] },
      });
    expect((await request(token)).status).toBe(201);
    const [head, body = '', signature = ''] = token.split('.');
    const other = Buffer.from(
      JSON.stringify({ ...JSON.parse(Buffer.from(body, 'base64url').toString()), roles: ['admin'] }),
    );
    const none = Buffer.from('{"alg":"none"}').toString('base64url');
    for (const forged of [
      `${head ?? ''}.${other.toString('base64url')}.${signature}`,
      `${none}.${body}.`,
      `${head ?? ''}.${body}.${signature.slice(0, -4)}AAAA`,
    ]) {
      expect((await request(forged)).status).toBe(401);
    }
  });
});
