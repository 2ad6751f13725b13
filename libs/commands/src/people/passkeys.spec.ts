import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { passkeysStream } from '@countersign/contracts';
import { confirmationChallenge } from '@countersign/passkeys';
import { createAuthenticator } from '@countersign/passkeys/testing';
import type { Authenticator } from '@countersign/passkeys/testing';
import type { Actor } from '../actor.js';
import * as api from '../commands.js';
import { alice as aliceByToken, codeOf, done, openPolicyWorld } from '../testing/policy-world.js';
import type { PolicyWorld } from '../testing/policy-world.js';
import { nextNonce, registrationOf, signedIn, site } from '../testing/signers.js';

let world: PolicyWorld;
const [alice, bob] = [signedIn('alice'), signedIn('bob')];

beforeEach(async () => {
  world = await openPolicyWorld('rules: []');
});
afterEach(() => world.close());

const add = (person: Actor, key = createAuthenticator(), ports = world.commands) =>
  api.registerPasskey(ports, person, site, registrationOf(person, key), nextNonce());

/** The confirmation of the waiting passkey of `owner`, signed with `by`. */
function confirmation(waiting: Authenticator, owner: string, by: Authenticator): api.ConfirmPasskeyBody {
  const nonce = nextNonce();
  const { credentialId, publicKey } = waiting;
  const challenge = confirmationChallenge({ tenant: 'default', principal: owner, credentialId, publicKey, nonce });
  return { assertion: by.sign(challenge, nonce, site) };
}

const confirm = (who: Actor, key: Authenticator, body: api.ConfirmPasskeyBody) =>
  api.confirmPasskey(world.commands, who, key.credentialId, body, nextNonce());

const statusOf = async ({ credentialId }: Authenticator) =>
  (await api.passkeysOf(world.commands, 'default')).find((one) => one.credentialId === credentialId)?.status;

describe('a passkey', () => {
  it('is recorded with its public key, and counts at once when it is the first of its person', async () => {
    const key = createAuthenticator();
    expect(done(await add(alice, key))).toMatchObject({ status: 'active', principal: 'alice', waitsFor: 'none' });
    const [event] = await world.store.readStream(passkeysStream('default'));
    expect(event).toMatchObject({
      type: 'PasskeyRegistered',
      data: { publicKey: key.publicKey, algorithm: -7, ...site },
    });
  });

  it('is registered by a person who is signed in, not by a token', async () => {
    expect(codeOf(await add(aliceByToken))).toBe('forbidden');
  });

  it('that was made for another person is refused', async () => {
    const stolen = registrationOf(alice, createAuthenticator());
    expect(codeOf(await api.registerPasskey(world.commands, bob, site, stolen, nextNonce()))).toBe('forbidden');
  });

  it('is registered once, and never again after it was removed', async () => {
    const key = createAuthenticator();
    done(await add(alice, key));
    expect(codeOf(await add(bob, key))).toBe('forbidden');
    done(await api.removePasskey(world.commands, alice, key.credentialId, nextNonce()));
    expect(codeOf(await add(alice, key))).toBe('forbidden');
    expect(await statusOf(key)).toBe('removed');
  });

  it('is not answered with another one that was registered under the same idempotency key', async () => {
    const given = registrationOf(alice, createAuthenticator());
    const register = (body: api.RegistrationBody) => api.registerPasskey(world.commands, alice, site, body, 'one-key');
    done(await register(given));
    done(await register(given));
    expect(codeOf(await register({ ...given, name: 'other' }))).toBe('idempotency-key-reused');
    expect(codeOf(await register(registrationOf(alice, createAuthenticator())))).toBe('idempotency-key-reused');
  });

  it('is removed by its owner alone', async () => {
    const key = createAuthenticator();
    done(await add(alice, key));
    expect(codeOf(await api.removePasskey(world.commands, bob, key.credentialId, nextNonce()))).toBe('not-found');
    expect(await statusOf(key)).toBe('active');
  });

  it('is one of at most 16 of a person', async () => {
    for (let count = 0; count < 16; count += 1) done(await add(alice));
    expect(codeOf(await add(alice))).toBe('too-many');
  });

  it('is the first of its person in one of two processes only', async () => {
    const other = world.another();
    await Promise.all([add(alice), add(alice, createAuthenticator(), other)]);
    const all = await api.passkeysOf(world.commands, 'default');
    expect(all.map(({ status }) => status).toSorted()).toEqual(['active', 'waiting']);
  });
});

describe('a further passkey', () => {
  const [first, second] = [createAuthenticator(), createAuthenticator()];
  beforeEach(async () => {
    done(await add(alice, first));
    done(await add(alice, second));
  });

  it('waits until its owner confirms it with a passkey that counts already', async () => {
    expect(await statusOf(second)).toBe('waiting');
    expect(codeOf(await confirm(alice, second, { assertion: null }))).toBe('signature-required');
    expect(codeOf(await confirm(alice, second, confirmation(second, 'alice', second)))).toBe('signature-required');
    done(await confirm(alice, second, confirmation(second, 'alice', first)));
    expect(await statusOf(second)).toBe('active');
  });

  it('may be confirmed by another person with theirs, and by their sign-in alone only while none has one', async () => {
    const theirs = createAuthenticator();
    expect(codeOf(await confirm(bob, second, { assertion: null }))).toBe('signature-required');
    done(await add(bob, theirs));
    expect(codeOf(await confirm(bob, second, confirmation(second, 'alice', first)))).toBe('signature-required');
    done(await confirm(bob, second, confirmation(second, 'alice', theirs)));
    expect(await statusOf(second)).toBe('active');
  });

  it('is not confirmed by a signature that confirms another one', async () => {
    const third = createAuthenticator();
    done(await add(alice, third));
    expect(codeOf(await confirm(alice, second, confirmation(third, 'alice', first)))).toBe('signature-required');
  });

  it('waits also after the first one was removed', async () => {
    done(await api.removePasskey(world.commands, alice, first.credentialId, nextNonce()));
    const fresh = createAuthenticator();
    done(await add(alice, fresh));
    expect(await statusOf(fresh)).toBe('waiting');
    done(await confirm(bob, fresh, { assertion: null }));
    expect(await statusOf(fresh)).toBe('active');
  });
});

describe('a policy with a second person for passkeys', () => {
  it('lets no passkey count before another person has confirmed it', async () => {
    world.activate('passkeys: { secondPerson: true }');
    const key = createAuthenticator();
    done(await add(alice, key));
    expect(await statusOf(key)).toBe('waiting');
    expect(codeOf(await confirm(alice, key, { assertion: null }))).toBe('own-request');
    expect(codeOf(await confirm(aliceByToken, key, { assertion: null }))).toBe('forbidden');
    done(await confirm(bob, key, { assertion: null }));
    expect(await statusOf(key)).toBe('active');
  });
});
