import { illegal, isIllegal } from './judged-event.js';
import type { Illegal, JudgedEvent, Unproven } from './judged-event.js';
import { isSameFolded } from './names.js';
import type { PasskeysState, PasskeyState } from './streams.js';
import { brokenAssertion } from './webauthn.js';

interface Assertion {
  readonly credentialId: string;
  readonly nonce: string;
  readonly authenticatorData: string;
  readonly clientDataJSON: string;
  readonly signature: string;
}

interface Judged {
  readonly next: Illegal | PasskeysState;
  readonly unproven: readonly Unproven[];
}

/** A key that counts by a sign-in alone is noted: nothing but the server's word says whose it is. */
interface Change {
  readonly key: PasskeyState;
  readonly isBySignIn: boolean;
}

/**
 * Judges an event about passkeys. Attack: the owner of the log registers a passkey of their own in the name of a person who has
 * one. So every further one needs a signature with one that counts.
 */
export function judgePasskeys(event: JudgedEvent, state: PasskeysState | undefined): Judged {
  if (event.stream !== `passkeys-${event.metadata.tenant}`) {
    return { next: illegal('stream', 'its tenant is not that of its stream'), unproven: [] };
  }
  const keys = state?.keys ?? {};
  const { credentialId } = event.data as { readonly credentialId: string };
  const known = Object.hasOwn(keys, credentialId) ? keys[credentialId] : undefined;
  const change = changed(event, known, keys);
  if (isIllegal(change)) return { next: change, unproven: [] };
  return {
    next: { kind: 'passkeys', keys: { ...keys, [credentialId]: change.key } },
    unproven: change.isBySignIn ? ['passkey-by-sign-in'] : [],
  };
}

type Keys = PasskeysState['keys'];

function changed(event: JudgedEvent, known: PasskeyState | undefined, keys: Keys): Illegal | Change {
  switch (event.type) {
    case 'PasskeyRegistered':
      return known === undefined
        ? registered(event.data as Registered, keys)
        : illegal('passkey', 'this passkey was registered before');
    case 'PasskeyConfirmed':
      return confirmed(event, known, keys);
    case 'PasskeyRemoved': {
      const { removedBy } = event.data as { readonly removedBy: string };
      if (known === undefined || known.status === 'removed') return illegal('passkey', 'no such passkey is registered');
      if (!isSameFolded(known.principal, removedBy))
        return illegal('passkey', `${removedBy} removes a passkey of another`);
      return { key: { ...known, status: 'removed', removedAt: event.recordedAt }, isBySignIn: false };
    }
    default:
      return illegal('stream', `an event of the type ${event.type} has no place in the stream of passkeys`);
  }
}

type Registered = Omit<PasskeyState, 'status'>;

function registered({ principal, publicKey, rpId, origin, waitsFor }: Registered, keys: Keys): Illegal | Change {
  const hasHad = Object.values(keys).some((key) => isSameFolded(key.principal, principal));
  if (hasHad && waitsFor === 'none') {
    return illegal('passkey', `${principal} had a passkey before, and the new one counts without a signature`);
  }
  const status = waitsFor === 'none' ? 'active' : 'waiting';
  return { key: { principal, publicKey, rpId, origin, waitsFor, status }, isBySignIn: status === 'active' };
}

interface Confirmed {
  readonly credentialId: string;
  readonly confirmedBy: string;
  readonly assertion?: Assertion;
}

function confirmed(event: JudgedEvent, known: PasskeyState | undefined, keys: Keys): Illegal | Change {
  const { credentialId, confirmedBy, assertion } = event.data as Confirmed;
  if (known?.status !== 'waiting') return illegal('passkey', 'no such passkey waits for a confirmation');
  const isOwn = isSameFolded(known.principal, confirmedBy);
  if (isOwn && known.waitsFor === 'another-person')
    return illegal('four-eyes', `${confirmedBy} confirms their own passkey`);
  const key: PasskeyState = { ...known, status: 'active' };
  if (assertion === undefined) {
    const isFirst = Object.values(keys).every(({ status }) => status !== 'active');
    return isFirst && !isOwn
      ? { key, isBySignIn: true }
      : illegal('passkey', 'it is confirmed without a signature, and a passkey that signs is registered');
  }
  const { nonce } = assertion;
  const { principal, publicKey } = known;
  const signed = { confirms: { tenant: event.metadata.tenant, principal, credentialId, publicKey }, nonce };
  const broken = brokenBy(confirmedBy, assertion, signed, keys);
  return broken === undefined ? { key, isBySignIn: false } : illegal('signature', broken);
}

/** Why an assertion is not one of this person with a passkey that counts; undefined: it is. */
export function brokenBy(person: string, assertion: Assertion, signed: unknown, keys: Keys): string | undefined {
  const key = Object.hasOwn(keys, assertion.credentialId) ? keys[assertion.credentialId] : undefined;
  if (key?.status !== 'active') return 'no such passkey counts';
  if (!isSameFolded(key.principal, person)) return `the passkey is not one of ${person}`;
  return brokenAssertion(assertion, signed, key);
}
