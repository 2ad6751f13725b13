import { displayDigest, hiddenByName, hiddenValues, passkeysStream } from '@countersign/contracts';
import type { AnswerSignature, RespondBody } from '@countersign/contracts';
import { currentProposal, isSameIdentity, passkeyInForce, toolCallRules } from '@countersign/domain';
import type { Approval, Passkey, RespondToApproval, ResponseDecision, ToolCall } from '@countersign/domain';
import type * as passkeys from '@countersign/passkeys';
import type { Actor } from '../actor.js';
import type { CommandPorts } from '../ports.js';
import { refused } from '../result.js';
import { applyRule } from '../stream/with-tool-call.js';
import type { Refused } from '../stream/with-tool-call.js';
import { lostVotes } from '../request/approvers.js';
import { shownCardOf } from './shown-card.js';

/** The library that verifies signatures is large, and most installations have no passkey. */
export const loadPasskeys = (): Promise<typeof passkeys> => import('@countersign/passkeys');

/** A response in its context. */
export interface ToSign {
  readonly actor: Actor;
  readonly call: ToolCall;
  readonly approval: Approval | undefined;
  readonly body: RespondBody;
  readonly command: RespondToApproval;
}

/**
 * The command with the person's signature, once it is verified: of this passkey, over this proposal, this card, this
 * decision and this instruction. A response that the rules refuse anyway is refused for their reason.
 */
export async function withSignature(
  ports: CommandPorts,
  toSign: ToSign,
  signature: AnswerSignature,
): Promise<RespondToApproval | Refused> {
  const { command, call } = toSign;
  const signed: RespondToApproval = { ...command, signature };
  const problem = await problemOf(ports, toSign, signature);
  if (problem === undefined) return signed;
  const judged = applyRule(ports, toolCallRules.respondToApproval, { ...signed, batch: 'broken' }, call);
  return judged.status === 'refused' ? judged : problem;
}

async function problemOf(
  ports: CommandPorts,
  { actor, call, approval, body, command }: ToSign,
  signature: AnswerSignature,
): Promise<Refused | undefined> {
  // The rules refuse it: there is no such approval.
  if (approval === undefined) return refused('unknown-approval', 'No such approval is recorded.');
  const hidden = hiddenBy(command.decision, approval);
  if (hidden !== undefined) return hidden;
  const key = await ownPasskey(ports, actor, signature);
  if (key === undefined) return noPasskey;
  // It names the instructions of the votes that count now, or those that were recorded.
  const now = lostVotes(ports, call, approval)?.now ?? approval;
  const card = [now, approval]
    .map((one) => shownCardOf(call, one))
    .find((one) => displayDigest(one) === signature.displayDigest);
  if (card === undefined) return otherCard;
  const { answerChallenge, verifyAssertion } = await loadPasskeys();
  const challenge = answerChallenge({
    ...{ proposalDigest: card.proposalDigest, displayDigest: signature.displayDigest, nonce: signature.nonce },
    ...{ decision: body.decision, instruction: body.instruction ?? null },
  });
  const verified = await verifyAssertion(signature, challenge, countedBefore(ports, key));
  if (verified.status !== 'verified') {
    return refused('signature-required', `The signature is not one of this answer: ${verified.why}.`);
  }
  // It may have been removed while the signature was verified.
  return (await ownPasskey(ports, actor, signature)) === undefined ? noPasskey : undefined;
}

/** The passkey of a signature, if it is one of the actor's and counts now. */
async function ownPasskey(
  { passkeys }: CommandPorts,
  { tenant, principal }: Actor,
  { credentialId }: AnswerSignature,
): Promise<Passkey | undefined> {
  const { state } = await passkeys.handler.load(passkeysStream(tenant));
  const key = passkeyInForce(state, credentialId);
  return key !== undefined && isSameIdentity(key.principal, principal) ? key : undefined;
}

const noPasskey = refused(
  'signature-required',
  'This passkey is not registered for you, is not confirmed yet, or was removed.',
);

const otherCard = refused('digest-mismatch', 'The card is no longer the one that you signed.');

/** Attack: a signature over masks, which says nothing about the values that would run. */
const hiddenDecision = refused(
  'signature-required',
  'An edit or an answer with hidden values cannot be signed. Deny with an instruction instead.',
);

/** Attack: a signature over the masks of another person's answer. No verifier can compute what it is about. */
const hiddenProposal = refused(
  'signature-required',
  'The proposed answer has hidden values, so a vote about it cannot be signed. Respond without a signature.',
);

function hiddenBy(decision: ResponseDecision, approval: Approval): Refused | undefined {
  if (hides(decision)) return hiddenDecision;
  return isHiddenAnswer(approval) ? hiddenProposal : undefined;
}

function isHiddenAnswer(approval: Approval): boolean {
  const { kind, output } = currentProposal(approval);
  return kind === 'answer' && hiddenByName(output).length > 0;
}

function hides(decision: ResponseDecision): boolean {
  switch (decision.type) {
    case 'edit':
      return hiddenValues(decision.arguments, decision.sensitive).length > 0;
    case 'answer':
      return decision.hidesValues;
    case 'approve':
    case 'deny':
      return false;
  }
}

/** The passkey with the highest counter that this process has seen. An authenticator that was copied falls behind it. */
function countedBefore({ passkeys: { signCounts } }: CommandPorts, key: Passkey): Passkey {
  return { ...key, signCount: Math.max(key.signCount, signCounts.get(key.credentialId) ?? 0) };
}

/** Remembers the counter of a signature that was recorded. Most passkeys do not count, and have 0. */
export function noteSignature(
  { passkeys: { signCounts } }: CommandPorts,
  { credentialId, authenticatorData }: AnswerSignature,
): void {
  const bytes = Buffer.from(authenticatorData, 'base64url');
  const count = bytes.length < counterAt + 4 ? 0 : bytes.readUInt32BE(counterAt);
  if (count > (signCounts.get(credentialId) ?? 0)) signCounts.set(credentialId, count);
}

/** The place of the counter: behind the hash of the domain and the flags. */
const counterAt = 33;
