import type {
  AnswerSignature,
  ApprovalView,
  Decision,
  PasskeyAssertion,
  PasskeyOptions,
  PasskeyView,
} from '@countersign/contracts';
import { ProblemError } from '@countersign/react/parts';
import { send } from '../api/http.js';
import { challengeOf, displayDigest, newNonce } from './challenge.js';

const path = '/v1/me/passkeys';

/** The passkeys of the signed-in person, or of everybody. */
export async function listPasskeys(whose: 'own' | 'all', signal?: AbortSignal): Promise<readonly PasskeyView[]> {
  const { passkeys } = await send<{ readonly passkeys: readonly PasskeyView[] }>(
    'GET',
    whose === 'own' ? path : '/v1/passkeys',
    { signal },
  );
  return passkeys.filter(({ status }) => status !== 'removed');
}

/** Makes a passkey with the browser, and registers it. */
export async function registerPasskey(name: string): Promise<PasskeyView> {
  const { nonce, publicKey } = await send<PasskeyOptions>('POST', path, { body: {} });
  const made = await asked(() =>
    navigator.credentials.create({ publicKey: PublicKeyCredential.parseCreationOptionsFromJSON(publicKey) }),
  );
  const { id: credentialId, response } = made.toJSON() as RegistrationResponseJSON;
  const { clientDataJSON, attestationObject, transports } = response;
  const registration = { nonce, credentialId, clientDataJSON, attestationObject, transports };
  return send('POST', path, { body: { name, registration } });
}

/** Removes a passkey of the person. */
export const removePasskey = (credentialId: string): Promise<PasskeyView> => send('DELETE', `${path}/${credentialId}`);

/** Confirms a passkey that waits, signed with one of the person if any counts. */
export async function confirmPasskey(
  { credentialId, principal, publicKey }: PasskeyView,
  tenant: string,
): Promise<PasskeyView> {
  const all = await listPasskeys('all');
  const nonce = newNonce();
  const signed = { confirms: { tenant, principal, credentialId, publicKey }, nonce };
  const body = all.some(({ status }) => status === 'active') ? { assertion: await assertionOf(signed, nonce) } : {};
  return send('POST', `/v1/passkeys/${credentialId}/confirm`, { body });
}

/** Signs an answer to the card on the screen. */
export async function signAnswer(
  approval: ApprovalView,
  decision: Decision,
  instruction: string,
): Promise<AnswerSignature> {
  const nonce = newNonce();
  const shown = await displayDigest(approval);
  const told = instruction.trim() === '' ? null : instruction.trim();
  const signed = { proposalDigest: approval.proposal.digest, displayDigest: shown, decision, instruction: told, nonce };
  return { ...(await assertionOf(signed, nonce)), displayDigest: shown };
}

async function assertionOf(signed: object, nonce: string): Promise<PasskeyAssertion> {
  const usable = (await listPasskeys('own')).filter(
    ({ status, origin }) => status === 'active' && origin === location.origin,
  );
  const [first] = usable;
  if (first === undefined) {
    throw refusal('You have no passkey that counts here. Register one under Passkeys. Nothing was sent.');
  }
  const publicKey = PublicKeyCredential.parseRequestOptionsFromJSON({
    challenge: await challengeOf(signed),
    rpId: first.rpId,
    userVerification: 'required',
    allowCredentials: usable.map(({ credentialId: id }) => ({ type: 'public-key', id })),
  });
  const made = await asked(() => navigator.credentials.get({ publicKey }));
  const { id: credentialId, response } = made.toJSON() as AuthenticationResponseJSON;
  const { authenticatorData, clientDataJSON, signature } = response;
  return { credentialId, nonce, authenticatorData, clientDataJSON, signature };
}

/** The answer of the authenticator. @throws ProblemError when there is none. */
async function asked(ask: () => Promise<Credential | null>): Promise<PublicKeyCredential> {
  const made = await ask().catch(() => null);
  if (made instanceof PublicKeyCredential) return made;
  throw refusal('The browser got no answer from a passkey. Nothing was sent.');
}

function refusal(detail: string): ProblemError {
  return new ProblemError({ status: 403, code: 'signature-required', detail });
}
