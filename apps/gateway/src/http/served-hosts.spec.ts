import { request } from 'node:http';
import { afterEach, expect, it } from '@jest/globals';
import { createSilentLog } from '@countersign/runtime/testing';
import type { FastifyRequest } from 'fastify';
import { createOidc } from '../inbox/oidc.js';
import { createSessions } from '../inbox/sessions.js';
import type { GatewayPorts } from '../ports.js';
import { createSessionStore } from '../sqlite/session-store.js';
import { openWorld } from '../testing/world.js';
import type { World, WorldOptions } from '../testing/world.js';
import { createHostCheck } from './served-hosts.js';

let world: World;
afterEach(() => world.close());

const withSessions = (ports: GatewayPorts): GatewayPorts => {
  const oidc = createOidc(
    {
      ...{ issuer: new URL('http://127.0.0.1:9'), clientId: 'countersign', clientSecret: null, audience: null },
      ...{ rolesClaim: 'roles', groupsClaim: 'groups', tenant: 'default' },
    },
    ports,
  );
  return { ...ports, oidc, sessions: createSessions({ ...ports, store: createSessionStore(':memory:') }) };
};

async function open(options: WorldOptions = {}): Promise<void> {
  world = await openWorld(options);
}

/** The status and the body of a request that names this host. */
function ask(host: string, path: string, method = 'GET'): Promise<{ status: number; body: string }> {
  const headers = { host, authorization: 'Bearer ann-token' };
  return new Promise((resolve, reject) => {
    const sent = request(`${world.url}${path}`, { method, headers }, (response) => {
      let body = '';
      response.setEncoding('utf8').on('data', (part: string) => (body += part));
      response.on('end', () => {
        resolve({ status: response.statusCode ?? 0, body });
      });
    });
    sent.on('error', reject).end();
  });
}

it('serves requests for this machine alone without a public URL, on every path', async () => {
  await open({ change: withSessions });
  for (const host of ['localhost', 'LOCALHOST:80', '127.0.0.1:7400', '127.0.0.2', '[::1]:7400']) {
    expect([host, (await ask(host, '/v1/approvals')).status]).toEqual([host, 200]);
  }
  for (const path of ['/', '/v1/approvals', '/session', '/session/oidc', '/openapi.json', '/approvals/apr_1']) {
    expect([path, (await ask('evil.example:7400', path)).status]).toEqual([path, 421]);
  }
  const { body } = await ask('evil.example', '/session', 'POST');
  expect(JSON.parse(body)).toMatchObject({
    code: 'misdirected-request',
    detail: expect.stringContaining('Set COUNTERSIGN_PUBLIC_URL') as unknown,
  });
});

it('refuses a host that only looks like this machine', async () => {
  await open();
  const hosts = ['localhost.evil.example', '127.0.0.1.evil.example', 'evil@localhost', 'localhost/evil', '10.0.0.1'];
  for (const host of [...hosts, '0.0.0.0', 'localhost,evil.example']) {
    expect([host, [400, 421].includes((await ask(host, '/v1/approvals')).status)]).toEqual([host, true]);
  }
});

it('lets probes and collectors use any host', async () => {
  await open();
  for (const path of ['/healthz', '/readyz', '/metrics?name=a']) {
    expect([path, (await ask('10.1.2.3:7400', path)).status]).toEqual([path, 200]);
  }
  expect((await ask('10.1.2.3:7400', '/metrics/../v1/approvals')).status).toBe(421);
});

it('serves every host with a public URL, because proxies and workers use names of their own', async () => {
  await open({ inbox: { publicUrl: new URL('https://approvals.example.com') } });
  expect((await ask('gateway-1:7400', '/v1/approvals')).status).toBe(200);
});

it.each([
  ['10.0.0.5', '10.0.0.5:7400', true],
  ['10.0.0.5', '10.0.0.6:7400', false],
  ['0.0.0.0', '0.0.0.0:7400', true],
  ['0.0.0.0', 'countersign.internal', false],
  ['::', '[::]:7400', true],
  ['fe80::1%eth0', '[fe80::1]:7400', false],
])('with the address %s, serves the host %s: %s', async (own, host, isServed) => {
  await open();
  const check = createHostCheck({ host: own, publicUrl: undefined }, createSilentLog());
  const asking = (): void => {
    check({ headers: { host }, url: '/v1/approvals', ip: '10.0.0.9' } as FastifyRequest);
  };
  if (isServed) expect(asking).not.toThrow();
  else expect(asking).toThrow('only requests to localhost');
});
