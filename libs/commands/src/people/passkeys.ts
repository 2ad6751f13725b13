import { passkeysStream } from '@countersign/contracts';
import type { PasskeyAssertion, PasskeyEvent } from '@countersign/contracts';
import { isSameIdentity, passkeyDecider, passkeyInForce } from '@countersign/domain';
import type { Passkey, PasskeyCommand, Passkeys } from '@countersign/domain';
import type { RelyingParty } from '@countersign/passkeys';
import type { Actor } from '../actor.js';
import type { CommandPorts } from '../ports.js';
import { withProof } from '../proof.js';
import { refused } from '../result.js';
import type { Result } from '../result.js';
import { assertReadable } from '../stream/handle-command.js';
import type { Refused } from '../stream/with-tool-call.js';
import { UnreadableStreamError } from '../stream/unreadable-stream.js';
import { aliasesOf } from './aliases.js';
import { loadPasskeys } from './sign-answer.js';

/** What a browser returned of a new passkey. */
export interface RegistrationBody {
  readonly name: string;
  readonly nonce: string;
  readonly credentialId: string;
  readonly clientDataJSON: string;
  readonly attestationObject: string;
  readonly transports: readonly string[];
}

/** Without a signature the sign-in alone confirms, which is enough while no person has a passkey that counts. */
export interface ConfirmPasskeyBody {
  readonly assertion: PasskeyAssertion | null;
}

/** The passkeys of a tenant's people, in the order of their registration, removed ones too. */
export async function passkeysOf({ passkeys }: CommandPorts, tenant: string): Promise<readonly Passkey[]> {
  const { state } = assertReadable(await passkeys.handler.look(passkeysStream(tenant)));
  return [...state.keys.values()];
}

/**
 * Registers a passkey of the actor. Only a person who is signed in registers one, and for themselves: a token that a
 * program holds does not.
 */
export async function registerPasskey(
  ports: CommandPorts,
  actor: Actor,
  relyingParty: RelyingParty,
  body: RegistrationBody,
  commandId: string,
): Promise<Result<Passkey>> {
  const { tenant, principal } = actor;
  if (actor.session === undefined) return refused('forbidden', 'sign in at the inbox to register a passkey');
  const { registrationChallenge, verifyRegistration } = await loadPasskeys();
  const challenge = registrationChallenge({ tenant, principal, rpId: relyingParty.rpId, nonce: body.nonce });
  const registered = await verifyRegistration(body, challenge, relyingParty);
  if (registered.status === 'refused') return refused('forbidden', `the passkey is not registered: ${registered.why}`);
  const { status: _status, ...key } = registered;
  const { name, transports } = body;
  return handle(
    ports,
    actor,
    { credentialId: key.credentialId, commandId },
    (_, at) => ({
      ...{ type: 'RegisterPasskey', at, needsSecondPerson: ports.policies.of(tenant).confirmsPasskeys },
      passkey: { ...key, ...relyingParty, principal, name, transports: [...transports] },
    }),
    (recorded) =>
      recorded.every(
        ({ type, data }) =>
          type !== 'PasskeyRegistered' || (data.credentialId === key.credentialId && data.name === name),
      ),
  );
}

/** Confirms a passkey that waits: its owner with another passkey of theirs, or another person. */
export async function confirmPasskey(
  ports: CommandPorts,
  actor: Actor,
  credentialId: string,
  { assertion }: ConfirmPasskeyBody,
  commandId: string,
): Promise<Result<Passkey>> {
  if (actor.session === undefined) return refused('forbidden', 'sign in at the inbox to confirm a passkey');
  const { principal: confirmedBy, tenant } = actor;
  const aliases = aliasesOf(ports, tenant, confirmedBy);
  return handle(ports, actor, { credentialId, commandId }, async (state, at) => {
    const waiting = state.keys.get(credentialId);
    if (waiting === undefined) return refused('not-found', 'there is no such passkey');
    const problem = assertion === null ? undefined : await problemOf(actor, state, waiting, assertion);
    return problem ?? { type: 'ConfirmPasskey', at, credentialId, confirmedBy, aliases, assertion };
  });
}

async function problemOf(
  { tenant, principal }: Actor,
  state: Passkeys,
  { credentialId, publicKey, principal: owner }: Passkey,
  assertion: PasskeyAssertion,
): Promise<Refused | undefined> {
  const key = passkeyInForce(state, assertion.credentialId);
  if (key === undefined || !isSameIdentity(key.principal, principal)) {
    return refused('signature-required', 'sign with a passkey of yours that counts already');
  }
  const { confirmationChallenge, verifyAssertion } = await loadPasskeys();
  const { nonce } = assertion;
  const challenge = confirmationChallenge({ tenant, principal: owner, credentialId, publicKey, nonce });
  const verified = await verifyAssertion(assertion, challenge, key);
  return verified.status === 'verified'
    ? undefined
    : refused('signature-required', `The signature is not one of this confirmation: ${verified.why}.`);
}

/** Removes a passkey of the actor: it counts for no further answer. */
export function removePasskey(
  ports: CommandPorts,
  actor: Actor,
  credentialId: string,
  commandId: string,
): Promise<Result<Passkey>> {
  const { principal: removedBy } = actor;
  return handle(ports, actor, { credentialId, commandId }, (state, at) => {
    const found = state.keys.get(credentialId);
    if (found === undefined || !isSameIdentity(found.principal, removedBy)) {
      return refused('not-found', 'you have no such passkey');
    }
    return { type: 'RemovePasskey', at, credentialId, removedBy };
  });
}

type Built = PasskeyCommand | Refused;

async function handle(
  ports: CommandPorts,
  actor: Actor,
  { credentialId, commandId }: { readonly credentialId: string; readonly commandId: string },
  build: (state: Passkeys, at: number) => Built | Promise<Built>,
  isRepeat?: (recorded: readonly PasskeyEvent[]) => boolean,
): Promise<Result<Passkey>> {
  const { tenant } = actor;
  try {
    const handled = await ports.passkeys.handler.handleCommand(
      passkeysStream(tenant),
      async (state) => {
        const command = await build(state, ports.clock.now());
        return 'refusal' in command ? command : withProof(passkeyDecider.decide(command, state), actor);
      },
      { tenant, callId: null, runId: null, commandId, ...(isRepeat !== undefined && { isRepeat }) },
    );
    if (handled.status === 'refused') return handled;
    const value = handled.state.keys.get(credentialId);
    if (value === undefined) return refused('not-found', 'there is no such passkey');
    return { status: 'done', value, position: handled.position };
  } catch (error) {
    if (error instanceof UnreadableStreamError) return { status: 'refused', refusal: error.refusal };
    throw error;
  }
}
