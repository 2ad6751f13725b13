import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { decodersOf, openEncodedServer, type EncodedServer } from '@countersign/http-client/testing';
import { systemClock } from '@countersign/runtime';
import { createSilentLog } from '@countersign/runtime/testing';
import { generateKeyPair, SignJWT } from 'jose';
import { createOidc, type Oidc } from './oidc.js';

let server: EncodedServer;

beforeAll(async () => {
  server = await openEncodedServer();
});
afterAll(() => server.close());

const oidc = (): Oidc =>
  createOidc(
    {
      ...{ issuer: new URL(server.url), clientId: 'countersign', clientSecret: null, audience: 'api' },
      ...{ rolesClaim: 'roles', groupsClaim: 'groups', tenant: 'default' },
    },
    { clock: systemClock, log: createSilentLog() },
  );
const metadata = (): string =>
  JSON.stringify({
    issuer: server.url,
    authorization_endpoint: `${server.url}/authorize`,
    token_endpoint: `${server.url}/token`,
    jwks_uri: `${server.url}/jwks`,
  });

it('does not read compressed metadata of a provider', async () => {
  server.answerWith(['br'], metadata());
  const begun = (): Promise<void> =>
    expect(oidc().begin('http://127.0.0.1/callback')).rejects.toMatchObject({
      cause: { message: expect.stringContaining('content-encoding: br') },
    });
  expect(await decodersOf(begun)).toBe(0);
});

it('does not read compressed keys of a provider, so no token can be checked', async () => {
  const { privateKey } = await generateKeyPair('EdDSA');
  const token = await new SignJWT({ sub: 'alice' }).setProtectedHeader({ alg: 'EdDSA' }).sign(privateKey);
  const provider = oidc();
  server.answerWith([], metadata());
  await provider.begin('http://127.0.0.1/callback');
  server.answerWith(['br'], '{"keys":[]}');
  const verified = (): Promise<void> => expect(provider.verify(token)).resolves.toEqual({ status: 'unavailable' });
  expect(await decodersOf(verified)).toBe(0);
  expect(server.received.at(-1)).toMatch(/^GET \/jwks [^]*accept-encoding: identity\r\n/);
});
