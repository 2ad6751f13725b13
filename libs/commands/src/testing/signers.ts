import { displayDigest } from '@countersign/contracts';
import type { AnswerSignature, Decision, RespondBody } from '@countersign/contracts';
import { answerChallenge, registrationChallenge } from '@countersign/passkeys';
import { createAuthenticator } from '@countersign/passkeys/testing';
import type { Authenticator } from '@countersign/passkeys/testing';
import type { Actor } from '../actor.js';
import * as api from '../commands.js';
import { shownCardOf } from '../people/shown-card.js';
import type { CommandPorts } from '../ports.js';
import { actor, done } from './policy-world.js';

export const site = { rpId: 'countersign.example', origin: 'https://countersign.example' };

let last = 0;
export const nextNonce = (): string => String(++last).padStart(22, 'n');

/** A person who is signed in at the inbox. */
export const signedIn = (principal: string): Actor => ({
  ...actor(principal, 'approver'),
  via: 'inbox',
  session: `sha256:${'0'.repeat(64)}`,
});

/** A passkey, registered for this person. */
export async function register(
  commands: CommandPorts,
  person: Actor,
  authenticator: Authenticator = createAuthenticator(),
): Promise<Authenticator> {
  done(await api.registerPasskey(commands, person, site, registrationOf(person, authenticator), nextNonce()));
  return authenticator;
}

/** What the browser of this person returns of a new passkey. */
export function registrationOf({ tenant, principal }: Actor, authenticator: Authenticator): api.RegistrationBody {
  const nonce = nextNonce();
  const challenge = registrationChallenge({ tenant, principal, rpId: site.rpId, nonce });
  return { name: 'key', nonce, transports: [], ...authenticator.register(challenge, site) };
}

/** What a test changes of an honest signature. */
export interface Altered {
  readonly card?: string;
  readonly proposal?: string;
  readonly decision?: Decision;
  readonly instruction?: string;
  readonly site?: typeof site;
}

/** The signed body of an answer to the approval as it is now, as a person's browser makes it. */
export async function signed(
  commands: CommandPorts,
  authenticator: Authenticator,
  target: { readonly callId: string; readonly tenant?: string },
  body: RespondBody,
  altered: Altered = {},
): Promise<RespondBody & { readonly signature: AnswerSignature }> {
  const call = await api.findCall(commands, target.tenant ?? 'default', target.callId);
  const approval = call?.approvals.at(-1);
  if (call === undefined || approval === undefined) throw new Error('there is no such approval');
  const card = shownCardOf(call, approval);
  const nonce = nextNonce();
  const shown = altered.card ?? displayDigest(card);
  const challenge = answerChallenge({
    ...{ proposalDigest: altered.proposal ?? card.proposalDigest, displayDigest: shown, nonce },
    decision: altered.decision ?? body.decision,
    instruction: altered.instruction ?? body.instruction ?? null,
  });
  return {
    ...body,
    signature: { ...authenticator.sign(challenge, nonce, altered.site ?? site), displayDigest: shown },
  };
}
