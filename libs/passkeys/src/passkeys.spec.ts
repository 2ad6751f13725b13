import { describe, expect, it } from '@jest/globals';
import { answerChallenge, registrationChallenge } from './challenges.js';
import { relyingPartyOf } from './relying-party.js';
import { createAuthenticator } from './testing/authenticator.js';
import { verifyAssertion } from './verify-assertion.js';
import { verifyRegistration } from './verify-registration.js';

const site = { rpId: 'countersign.example', origin: 'https://countersign.example' };
const nonce = 'AAAAAAAAAAAAAAAAAAAAAA';
const digest = (letter: string) => `sha256:${letter.repeat(64)}`;
const answer = {
  ...{ proposalDigest: digest('a'), displayDigest: digest('b'), instruction: null, nonce },
  decision: { type: 'approve' },
} as const;
const challenge = answerChallenge(answer);
const mine = { tenant: 'default', principal: 'alice', rpId: site.rpId, nonce };

describe('answerChallenge', () => {
  it('is the SHA-256 over the RFC 8785 form, which is written out here', () => {
    expect(challenge).toBe('0agL9lu9xzB3YFGC7_MtjGnVQhAK-ywQ2dVMRXggcbE');
  });

  it('is another one for another proposal, card, decision, instruction or nonce', () => {
    const others = [
      { ...answer, proposalDigest: digest('c') },
      { ...answer, displayDigest: digest('c') },
      { ...answer, decision: { type: 'deny' } as const },
      { ...answer, decision: { type: 'edit', arguments: {} } as const },
      { ...answer, instruction: '' },
      { ...answer, nonce: 'BAAAAAAAAAAAAAAAAAAAAA' },
    ].map(answerChallenge);
    expect(new Set([challenge, ...others]).size).toBe(7);
  });
});

describe('relyingPartyOf', () => {
  it.each([
    ['https://countersign.example', 'countersign.example'],
    ['https://sign.corp.example:8443/', 'sign.corp.example'],
    ['http://localhost:7400', 'localhost'],
    ['http://countersign.example', undefined],
    ['https://10.0.0.1', undefined],
    ['http://127.0.0.1:7400', undefined],
    ['https://[::1]:7400', undefined],
  ])('of %s is %s', (url, rpId) => {
    expect(relyingPartyOf(new URL(url))?.rpId).toBe(rpId);
  });
});

describe.each(['ES256', 'EdDSA', 'RS256'] as const)('a passkey with %s', (algorithm) => {
  it('is registered, and signs', async () => {
    const authenticator = createAuthenticator(algorithm);
    const wanted = registrationChallenge(mine);
    const registered = await verifyRegistration(authenticator.register(wanted, site), wanted, site);
    const { credentialId, publicKey } = authenticator;
    expect(registered).toMatchObject({ status: 'verified', credentialId, publicKey, signCount: 0 });
    const key = { credentialId, publicKey, ...site, signCount: 0 };
    expect(await verifyAssertion(authenticator.sign(challenge, nonce, site), challenge, key)).toEqual({
      status: 'verified',
      signCount: 0,
    });
  });
});

describe('verifyRegistration', () => {
  it.each([
    ['made for another person', registrationChallenge({ ...mine, principal: 'bob' }), site],
    ['made for another tenant', registrationChallenge({ ...mine, tenant: 'other' }), site],
    ['made on another origin', registrationChallenge(mine), { ...site, origin: 'https://evil.example' }],
    ['made for another domain', registrationChallenge(mine), { ...site, rpId: 'evil.example' }],
    ['of an authenticator that did not verify its user', registrationChallenge(mine), { ...site, isVerified: false }],
  ])('refuses a passkey %s', async (_, signed, at) => {
    const made = createAuthenticator().register(signed, at);
    expect(await verifyRegistration(made, registrationChallenge(mine), site)).toMatchObject({ status: 'refused' });
  });

  it('refuses bytes that are none', async () => {
    const made = { credentialId: 'AAAA', clientDataJSON: 'AAAA', attestationObject: 'AAAA' };
    expect(await verifyRegistration(made, 'AAAA', site)).toMatchObject({ status: 'refused' });
  });
});

describe('verifyAssertion', () => {
  const authenticator = createAuthenticator('ES256', { counts: true });
  const { credentialId, publicKey } = authenticator;
  const key = { credentialId, publicKey, ...site, signCount: 0 };
  const signed = authenticator.sign(challenge, nonce, site);

  it.each([
    ['of another challenge', authenticator.sign(answerChallenge({ ...answer, nonce: 'x' }), nonce, site)],
    ['of another origin', authenticator.sign(challenge, nonce, { ...site, origin: 'https://evil.example' })],
    ['of another domain', authenticator.sign(challenge, nonce, { ...site, rpId: 'evil.example' })],
    ['without a verified user', authenticator.sign(challenge, nonce, { ...site, isVerified: false })],
    ['in a frame of another site', authenticator.sign(challenge, nonce, { ...site, crossOrigin: true })],
    ['with another key', createAuthenticator().sign(challenge, nonce, site)],
    ['with the signature of other bytes', { ...signed, signature: authenticator.sign('x', nonce, site).signature }],
    ['that is not written in one way only', { ...signed, signature: `${signed.signature}=` }],
  ])('refuses one %s', async (_, assertion) => {
    expect(await verifyAssertion(assertion, challenge, key)).toMatchObject({ status: 'refused' });
  });

  it('refuses a counter that does not grow', async () => {
    expect(await verifyAssertion(signed, challenge, key)).toEqual({ status: 'verified', signCount: 1 });
    expect(await verifyAssertion(signed, challenge, { ...key, signCount: 1 })).toMatchObject({ status: 'refused' });
  });
});
