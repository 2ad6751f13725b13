import { statSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { join } from 'node:path';
import { describe, expect, test } from '@jest/globals';
import { cleanUpAfterEach, onCleanup, temporaryFolder } from '../harness/cleanup.js';
import { freePort } from '../../ports.js';
import type { HttpAnswer } from '../harness/http.js';
import { startServer } from '../harness/server.js';
import type { Server } from '../harness/server.js';
import { openStoreServer, storeUrl, writeTokens } from './roles.js';

cleanUpAfterEach();

const publicUrl = 'https://approvals.example.com';
/** The origin of a page that may call the API. */
const desk = 'https://desk.example.com';

/** Returns the sign-in address, as every provider does; no test signs in through it. */
async function openProvider(): Promise<string> {
  const server = createServer((_, answer) => {
    answer.setHeader('content-type', 'application/json');
    answer.end(
      JSON.stringify({
        issuer,
        authorization_endpoint: `${issuer}/authorize`,
        token_endpoint: `${issuer}/token`,
        jwks_uri: `${issuer}/keys`,
        response_types_supported: ['code'],
        subject_types_supported: ['public'],
        id_token_signing_alg_values_supported: ['RS256'],
      }),
    );
  });
  await new Promise<void>((resolve) => {
    server.listen(0, '127.0.0.1', resolve);
  });
  onCleanup(() => {
    server.closeAllConnections();
    server.close();
  });
  const issuer = `http://127.0.0.1:${String((server.address() as AddressInfo).port)}`;
  return issuer;
}

/** A gateway behind a proxy that ends TLS. */
async function openGateway() {
  const { port: storePort } = await openStoreServer();
  const issuer = await openProvider();
  const folder = temporaryFolder();
  const env = {
    COUNTERSIGN_EVENTSTORE_URL: storeUrl(storePort),
    COUNTERSIGN_TOKENS_FILE: writeTokens(),
    COUNTERSIGN_PUBLIC_URL: publicUrl,
    COUNTERSIGN_CORS_ORIGINS: desk,
    COUNTERSIGN_OIDC_ISSUER: issuer,
    COUNTERSIGN_OIDC_CLIENT_ID: 'countersign',
  };
  const start = async (): Promise<Server> => {
    const server = startServer({ folder, port: await freePort(), args: ['start', 'gateway'], env });
    await server.ready();
    return server;
  };
  return { folder, issuer, start };
}

/** The headers that our page sends through the proxy: the origin is the public one, the host may differ. */
const fromPage = { origin: publicUrl, 'sec-fetch-site': 'same-origin', 'countersign-client': 'inbox' };

function signIn({ http }: Server): Promise<HttpAnswer> {
  return http.send({ method: 'POST', path: '/session', headers: fromPage, body: { token: 'ann-token' } });
}

const cookieOf = ({ headers }: HttpAnswer): string => headers['set-cookie']?.[0] ?? '';

async function ask({ http }: Server): Promise<string> {
  const call = { toolCallId: 'c', toolName: 'delete_file', arguments: { path: '/etc/hosts' }, needsApproval: true };
  const body = { runId: 'run-1', calls: [call] };
  const asked = await http.send({ method: 'POST', path: '/v1/tool-calls', token: 'agent-token', body });
  const [requested] = (asked.body as { calls: { approval: { approvalId: string } }[] }).calls;
  return requested?.approval.approvalId ?? '';
}

describe('the inbox at a gateway of a cluster', () => {
  test('a person signs in and approves, over https alone and from our page alone; the session outlives a restart', async () => {
    const { folder, start } = await openGateway();
    const first = await start();
    const page = await first.http.send({ method: 'GET', path: '/' });
    expect([page.status, page.text]).toEqual([200, expect.stringContaining('/assets/')]);
    const approvalId = await ask(first);

    const opened = await signIn(first);
    expect([opened.status, cookieOf(opened)]).toEqual([201, expect.stringMatching(/; HttpOnly; .*; Secure$/)]);
    expect(statSync(join(folder, 'data', 'sessions.db')).isFile()).toBe(true);
    await first.stop();

    const second = await start();
    const [cookie = ''] = cookieOf(opened).split(';');
    const path = `/v1/approvals/${approvalId}/responses`;
    const answer = { method: 'POST', path, body: { decision: { type: 'approve' } } } as const;
    const foreign = { ...fromPage, cookie, origin: 'https://evil.example', 'sec-fetch-site': 'cross-site' };
    expect((await second.http.send({ ...answer, headers: foreign })).status).toBe(403);
    // A page that may call the API does so with a token: the session stays that of the inbox.
    const ofDesk = await second.http.send({ ...answer, headers: { ...foreign, origin: desk } });
    expect(ofDesk).toMatchObject({ status: 403, headers: { 'access-control-allow-origin': desk } });
    const approved = await second.http.send({ ...answer, headers: { ...fromPage, cookie } });
    expect(approved).toMatchObject({
      status: 200,
      body: { state: 'approved', responses: [{ respondedBy: 'ann', via: 'inbox' }] },
    });
  });

  test('sends people to their provider, and tells it where they are to come back to: where they see us', async () => {
    const { issuer, start } = await openGateway();
    const { http } = await start();
    expect((await http.send({ method: 'GET', path: '/session' })).body).toEqual({ actor: null, isOidcOffered: true });
    const sent = await http.send({ method: 'GET', path: '/session/oidc' });
    const location = new URL(String(sent.headers.location));
    expect([sent.status, location.origin]).toEqual([302, issuer]);
    expect(Object.fromEntries(location.searchParams)).toMatchObject({
      client_id: 'countersign',
      redirect_uri: `${publicUrl}/session/oidc/callback`,
      code_challenge_method: 'S256',
    });
    expect(cookieOf(sent)).toMatch(/; HttpOnly; SameSite=Lax; Secure$/);
  });
});
