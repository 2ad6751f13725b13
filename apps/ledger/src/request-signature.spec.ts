import { findCall } from '@countersign/commands';
import { generateKeyPairSync, sign } from 'node:crypto';
import type { KeyObject } from 'node:crypto';
import { deriveCallId } from '@countersign/contracts';
import { createVirtualClock } from '@countersign/runtime/testing';
import { createRequestKeys } from './request-keys.js';
import type { RequestKeys } from './request-keys.js';
import { callOf, openLedgerWorld, requestMessage } from './testing/ledger-world.js';
import type { LedgerWorld } from './testing/ledger-world.js';
import { signRequest } from './testing/sign-request.js';
import type { RequestSigning } from './testing/sign-request.js';

const ed = generateKeyPairSync('ed25519');
const ec = generateKeyPairSync('ec', { namedCurve: 'P-256' });
const stranger = generateKeyPairSync('ed25519');
const jwk = (key: KeyObject) => key.export({ format: 'jwk' });

const keyEntries = [
  { kid: 'billing', publicKey: jwk(ed.publicKey), tenant: 'acme', principal: 'billing', agentIds: ['billing-*'] },
  { kid: 'ops', publicKey: jwk(ec.publicKey), tenant: 'acme', principal: 'ops', agentIds: ['*'] },
];

const billing: RequestSigning = { kid: 'billing', alg: 'EdDSA', privateKey: ed.privateKey };
const ops: RequestSigning = { kid: 'ops', alg: 'ES256', privateKey: ec.privateKey };
const value = JSON.stringify({ runId: 'run-1', agentId: 'billing-1', calls: [callOf('a')] });
const type = 'ToolCallRequested';
const [now, hour] = [Date.UTC(2030, 0, 1), 3_600_000];

describe('a signed request', () => {
  let world: LedgerWorld;
  let keys: RequestKeys;
  beforeEach(async () => {
    keys = await createRequestKeys(keyEntries);
    const unsigned = { mode: 'refuse', tenant: 'default', principal: 'kafka' } as const;
    world = await openLedgerWorld({ keys, unsigned, clock: createVirtualClock(now) });
  });
  afterEach(async () => {
    await world.close();
  });
  const claims = { ce_id: 'r-1', ce_type: type, iat: now / 1000, aud: 'acme/requests' };
  const send = (signature: string | undefined, given: string = value, headers = {}) =>
    world.deliver(requestMessage(type, given, { ce_id: 'r-1', 'countersign-signature': signature, ...headers }));
  const recorded = async () => findCall(world.commands, 'acme', deriveCallId('acme', 'run-1', 'a'));
  const unverified = async (): Promise<unknown> => {
    expect(await world.types()).toEqual(['RequestRefused']);
    const [event] = await world.events();
    // The sender is unknown, so only the configured tenant learns of it.
    expect(event?.metadata).toMatchObject({ tenant: 'default', runId: null });
    expect(await world.figures()).toContain('countersign_ledger_unverified_total 1');
    const { code, detail } = event!.data as { code: string; detail: string };
    expect(code).toBe('unauthenticated');
    return detail;
  };

  it.each([
    ['EdDSA', billing, 'billing'],
    ['ES256', ops, 'ops'],
  ])('belongs to the owner of its key (%s)', async (_, signing, principal) => {
    await send(await signRequest(value, claims, signing));
    expect((await recorded())?.request).toMatchObject({ tenant: 'acme', requestedBy: principal });
  });

  it('is the same as what another implementation of the standard makes', async () => {
    const header = Buffer.from(JSON.stringify({ alg: 'EdDSA', kid: 'billing', ...claims })).toString('base64url');
    const input = Buffer.from(`${header}.${Buffer.from(value).toString('base64url')}`);
    await send(`${header}..${sign(null, input, ed.privateKey).toString('base64url')}`);
    expect(await recorded()).toBeDefined();
  });

  it('is one command under any source: that header is not signed', async () => {
    await send(await signRequest(value, claims, billing));
    const cancel = JSON.stringify({ runId: 'run-1', reason: 'x' });
    const ce_type = 'ToolCallCancelled';
    const signature = await signRequest(cancel, { ...claims, ce_type }, billing);
    await send(signature, cancel, { ce_type });
    const later = value.replaceAll('"a"', '"later"');
    await send(await signRequest(later, { ...claims, ce_id: 'r-2' }, billing), later, { ce_id: 'r-2' });
    // Attack: an old signed request is sent again as if it were new.
    await send(signature, cancel, { ce_type, ce_source: '/elsewhere' });
    const call = await findCall(world.commands, 'acme', deriveCallId('acme', 'run-1', 'later'));
    expect([call?.permission.status, (await recorded())?.permission.status]).toEqual([
      'awaiting_approval',
      'cancelled',
    ]);
  });

  it('speaks for the agents of its key alone', async () => {
    const other = value.replace('billing-1', 'payroll-1');
    await send(await signRequest(other, claims, billing), other);
    expect(await world.refusals()).toMatchObject([{ code: 'forbidden' }]);
    expect((await world.events())[0]?.metadata.tenant).toBe('acme');
  });

  it.each<[string, Partial<typeof claims>, string]>([
    ['for another id', { ce_id: 'r-2' }, 'another ce_id'],
    ['for another type', { ce_type: 'ToolCallCancelled' }, 'another ce_type'],
    ['too old', { iat: (now - 25 * hour) / 1000 }, 'too old'],
    ['from the future', { iat: (now + hour) / 1000 }, 'from the future'],
    ['for another tenant', { aud: 'default/requests' }, 'another aud; here it must be "acme/requests"'],
    ['for another topic', { aud: 'acme/staging.requests.v1' }, 'another aud'],
    ['without an audience', { aud: undefined as never }, 'no aud'],
    ['for several audiences', { aud: ['acme/requests', 'acme/other'] as never }, 'another aud'],
    ['without a time', { iat: 'now' as never }, 'no iat'],
  ])('is refused when its signature is %s', async (_, change, why) => {
    await send(await signRequest(value, { ...claims, ...change }, billing));
    expect(await unverified()).toContain(why);
    expect(await recorded()).toBeUndefined();
  });

  it('counts for a day, so that it may wait on the topic', async () => {
    await send(await signRequest(value, { ...claims, iat: (now - 23 * hour) / 1000 }, billing));
    expect(await recorded()).toBeDefined();
  });

  it.each<[string, () => Promise<string>, string]>([
    ['by a key that is not known', () => signRequest(value, claims, { ...billing, kid: 'nobody' }), 'not known'],
    ['in the name of another key', () => signRequest(value, claims, { ...billing, kid: 'ops' }), 'ES256 alone'],
    [
      'by another private key',
      () => signRequest(value, claims, { ...billing, privateKey: stranger.privateKey }),
      'fit',
    ],
    ['over another value', () => signRequest(value.replace('"/a"', '"/b"'), claims, billing), 'does not fit'],
    [
      'in another text of the same bytes',
      async () => otherText(await signRequest(value, claims, billing)),
      'not a detached JWS',
    ],
    ['with no algorithm', async () => withHeader({ alg: 'none', kid: 'billing', ...claims }), 'EdDSA alone'],
    ['with a MAC made of the public key', async () => withHeader({ alg: 'HS256', kid: 'billing', ...claims }), 'EdDSA'],
    [
      'with the value inside',
      async () => (await signRequest(value, claims, billing)).replace('..', '.e30.'),
      'detached',
    ],
    ['with a changed header', async () => changed(await signRequest(value, claims, billing)), 'fit'],
    ['with no text', async () => '', 'detached'],
    ['with nonsense', async () => 'a.b.c.d', 'detached'],
    ['with no JSON in it', async () => 'AAAA..AAAA', 'detached'],
    ['with an array for a header', async () => `${encode([])}..AAAA`, 'not known'],
  ])('is refused when it is signed %s', async (_, make, why) => {
    await send(await make());
    expect(await unverified()).toContain(why);
    expect(await recorded()).toBeUndefined();
  });

  it('is refused for any changed byte of its value', async () => {
    const signature = await signRequest(value, claims, billing);
    for (let at = 0; at < value.length; at += 7) {
      const bytes = Buffer.from(value);
      bytes[at] = (bytes[at] ?? 0) ^ 1;
      await world.deliver(requestMessage(type, bytes, { ce_id: 'r-1', 'countersign-signature': signature }));
    }
    // All are the same request to the client, so they get one refusal.
    expect(await world.types()).toEqual(['RequestRefused']);
  });

  it('is needed once keys are configured: without one it is refused', async () => {
    await send(undefined);
    expect(await unverified()).toBe('a request must be signed');
  });

  it('does not open the way for a forged answer', async () => {
    const answer = { ...claims, ce_type: 'ApprovalResponded' };
    const signature = await signRequest('{}', answer, billing);
    await world.deliver(
      requestMessage('ApprovalResponded', '{}', { ce_id: 'r-1', 'countersign-signature': signature }),
    );
    expect(await world.refusals()).toMatchObject([{ code: 'forbidden' }]);
    expect(await world.types()).toEqual(['RequestRefused']);
  });
});

describe('a signature where none is asked for', () => {
  it.each([
    ['no keys are configured', null],
    ['it is not valid', 'keys'],
  ])('is never taken for none: %s', async (_, which) => {
    const keys = which === null ? null : await createRequestKeys(keyEntries);
    const world = await openLedgerWorld({ keys });
    const signature = await signRequest(
      `${value} `,
      { ce_id: 'r-1', ce_type: type, iat: Date.now() / 1000, aud: 'acme/requests' },
      billing,
    );
    await world.deliver(requestMessage(type, value, { ce_id: 'r-1', 'countersign-signature': signature }));
    expect(await world.types()).toEqual(['RequestRefused']);
    await world.close();
  });
});

function encode(header: unknown): string {
  return Buffer.from(JSON.stringify(header)).toString('base64url');
}

function withHeader(header: object): string {
  return `${encode(header)}..AAAA`;
}

/** The last letter of 64 bytes has four bits that say nothing. */
function otherText(signature: string): string {
  const letters = 'ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_';
  return signature.slice(0, -1) + letters.charAt(letters.indexOf(signature.slice(-1)) + 1);
}

function changed(signature: string): string {
  const [header = '', , signed = ''] = signature.split('.');
  const text = Buffer.from(header, 'base64url').toString().replace('{', '{"more":1,');
  return `${Buffer.from(text).toString('base64url')}..${signed}`;
}
