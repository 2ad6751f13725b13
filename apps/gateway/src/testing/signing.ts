import { displayDigest } from '@countersign/contracts';
import type { AnswerSignature, ApprovalView } from '@countersign/contracts';
import { answerChallenge } from '@countersign/passkeys';
import type { Authenticator, Site } from '@countersign/passkeys/testing';

const decision = { type: 'approve' } as const;

/** The card as a client renders it from the approval that it has read. */
function cardOf(view: ApprovalView): string {
  const { approvalId, requestedBy, reason, description, instructions, proposal } = view;
  const { callId, runId, agentId, toolCallId, toolName, owner, onBehalfOf, labels } = view;
  const { title, toolDescription, metadata } = view;
  return displayDigest({
    ...{ approvalId, requestedBy, reason, description, instructions, proposalDigest: proposal.digest },
    asked: proposal.kind === 'answer' ? proposal.output : view.arguments,
    call: { callId, runId, agentId, toolCallId, toolName, owner, onBehalfOf, labels, title, toolDescription, metadata },
  });
}

/** The body of a signed approval, as the browser of a person makes it. */
export function signedApproval(
  view: ApprovalView,
  key: Authenticator,
  site: Site,
): { readonly decision: typeof decision; readonly signature: AnswerSignature } {
  const nonce = crypto.randomUUID().replaceAll('-', '');
  const shown = cardOf(view);
  const challenge = answerChallenge({
    ...{ proposalDigest: view.proposal.digest, displayDigest: shown, decision, instruction: null, nonce },
  });
  return { decision, signature: { ...key.sign(challenge, nonce, site), displayDigest: shown } };
}
