import { hash } from 'node:crypto';
import { confirmPasskey, passkeysOf, refused as no, registerPasskey, removePasskey } from '@countersign/commands';
import type { Actor } from '@countersign/commands';
import type { ConfirmPasskeyBody, PasskeyOptions, PasskeyView, RegisterPasskeyBody } from '@countersign/contracts';
import type { Passkey } from '@countersign/domain';
import type { RelyingParty } from '@countersign/passkeys';
import { ok, refused } from './answer.js';
import type { Answer } from './answer.js';
import { conclude } from './conclude.js';
import type { WriteContext } from './conclude.js';
import type { GatewayPorts } from './ports.js';

/** The passkeys of people: list, register, confirm, remove. */
export interface PasskeysOfPeople {
  /** Those of the whole tenant, or the actor's own. */
  readonly list: (actor: Actor, whose: 'all' | 'own') => Promise<Answer>;
  readonly get: (actor: Actor, credentialId: string) => Promise<Answer>;
  /** What a browser needs to make a passkey. */
  readonly options: (actor: Actor, publicUrl: URL | undefined) => Promise<Answer>;
  readonly register: (context: WriteContext, body: RegisterPasskeyBody, publicUrl: URL | undefined) => Promise<Answer>;
  readonly confirm: (context: WriteContext, credentialId: string, body: ConfirmPasskeyBody) => Promise<Answer>;
  readonly remove: (context: WriteContext, credentialId: string) => Promise<Answer>;
}

/** The library of WebAuthn is loaded when a person uses it. */
const load = () => import('@countersign/passkeys');

/** The passkeys side of the gateway. */
export function createPasskeys(ports: GatewayPorts): PasskeysOfPeople {
  const { commands } = ports;
  const ownOf = async ({ tenant, principal: own }: Actor): Promise<readonly Passkey[]> =>
    (await passkeysOf(commands, tenant)).filter(({ principal }) => principal === own);
  return {
    list: async (actor, whose) => {
      const wanted = whose === 'all' ? await passkeysOf(commands, actor.tenant) : await ownOf(actor);
      return ok({ passkeys: wanted.map(toView) });
    },
    get: async (actor, credentialId) => {
      const found = (await ownOf(actor)).find((one) => one.credentialId === credentialId);
      return found === undefined ? refused(no('not-found', 'you have no such passkey').refusal) : ok(toView(found));
    },
    options: async (actor, publicUrl) => {
      const relyingParty = await relyingPartyAt(publicUrl);
      return relyingParty === undefined ? notHere : ok(await optionsFor(ports, actor, relyingParty));
    },
    register: async ({ actor, commandId }, { name = 'passkey', registration }, publicUrl) => {
      const relyingParty = await relyingPartyAt(publicUrl);
      if (relyingParty === undefined) return notHere;
      const { transports = [], ...made } = registration;
      const outcome = await registerPasskey(commands, actor, relyingParty, { name, transports, ...made }, commandId);
      return conclude(ports, 'RegisterPasskey', outcome, toView, () => 201);
    },
    confirm: async ({ actor, commandId }, credentialId, { assertion = null }) => {
      const outcome = await confirmPasskey(commands, actor, credentialId, { assertion }, commandId);
      return conclude(ports, 'ConfirmPasskey', outcome, toView);
    },
    remove: async ({ actor, commandId }, credentialId) => {
      const outcome = await removePasskey(commands, actor, credentialId, commandId);
      return conclude(ports, 'RemovePasskey', outcome, toView);
    },
  };
}

async function relyingPartyAt(publicUrl: URL | undefined): Promise<RelyingParty | undefined> {
  return (await load()).relyingPartyOf(publicUrl);
}

const notHere = refused(
  no(
    'not-supported',
    'browsers make passkeys for a domain name: set COUNTERSIGN_PUBLIC_URL to the https address of the inbox, or to http://localhost:PORT',
  ).refusal,
);

function toView(passkey: Passkey): PasskeyView {
  const { credentialId, principal, name, status, waitsFor, confirmedBy, publicKey, rpId, origin, registeredAt } =
    passkey;
  return { credentialId, principal, name, status, waitsFor, confirmedBy, publicKey, rpId, origin, registeredAt };
}

const minutes5 = 300_000;

async function optionsFor(
  { commands, ids }: GatewayPorts,
  { tenant, principal }: Actor,
  { rpId }: RelyingParty,
): Promise<PasskeyOptions> {
  const { algorithms, registrationChallenge } = await load();
  const own = (await passkeysOf(commands, tenant)).filter((one) => one.principal === principal);
  const nonce = Buffer.from(ids.randomBytes(16)).toString('base64url');
  return {
    nonce,
    publicKey: {
      challenge: registrationChallenge({ tenant, principal, rpId, nonce }),
      rp: { id: rpId, name: 'Countersign' },
      // The authenticator keeps it: it says nothing about the person to others.
      user: { id: hash('sha256', `${tenant}\n${principal}`, 'base64url'), name: principal, displayName: principal },
      pubKeyCredParams: algorithms.map((alg) => ({ type: 'public-key', alg })),
      timeout: minutes5,
      attestation: 'none',
      authenticatorSelection: { residentKey: 'preferred', userVerification: 'required' },
      excludeCredentials: own.map(({ credentialId: id, transports }) => ({ type: 'public-key', id, transports })),
    },
  };
}
