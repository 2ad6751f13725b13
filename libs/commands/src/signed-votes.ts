import { isReadable, passkeysStream, proposalDigest, toolCallStream } from '@countersign/contracts';
import type { Decision, EventData, LogEvent, PasskeyEventData, RecordedEvent } from '@countersign/contracts';
import {
  currentApproval,
  currentProposal,
  digestInputOf,
  isSignedEnough,
  needsSignature,
  isSameIdentity,
} from '@countersign/domain';
import type { Approval, Passkeys, ToolCall, Vote } from '@countersign/domain';
import { loadPasskeys } from './people/sign-answer.js';
import type { CommandPorts } from './ports.js';
import { refused } from './result.js';
import type { Refused } from './stream/with-tool-call.js';

/**
 * Refuses a run whose approval asks for signatures, unless each of them still verifies with the registered passkeys.
 * Undefined for every other call. A passkey that was removed after the answer has signed all the same; the log says which came
 * first.
 *
 * Attack: the owner of the log appends an approval with a signature of another answer. Or a stolen passkey is removed while a
 * process that has verified its signature stands still, and the answer is recorded after the removal.
 */
export function notSigned(ports: CommandPorts, call: ToolCall): Promise<Refused | undefined> | undefined {
  const approval = currentApproval(call);
  const isApproved = call.permission.status === 'approved' && approval !== undefined;
  if (!isApproved || !currentProposal(approval).requirements.some(needsSignature)) return undefined;
  return judged(ports, call, approval);
}

async function judged(ports: CommandPorts, call: ToolCall, approval: Approval): Promise<Refused | undefined> {
  const { state } = await ports.passkeys.handler.load(passkeysStream(call.request.tenant));
  const valid = new Set<Vote>();
  for (const vote of approval.votes) {
    if ((await isValid(state, call, approval, vote)) && (await isBeforeRemoval(ports, state, call, vote)))
      valid.add(vote);
  }
  return isSignedEnough(approval, (vote) => valid.has(vote))
    ? undefined
    : refused('not-approved', 'The approval lacks valid signatures that its rule asks for.', {
        extra: { state: 'approved' },
      });
}

async function isValid({ keys }: Passkeys, call: ToolCall, approval: Approval, vote: Vote): Promise<boolean> {
  const { signature, instruction, respondedBy } = vote;
  const key = signature === null ? undefined : keys.get(signature.credentialId);
  if (signature === null || key === undefined || key.status === 'waiting') return false;
  if (!isSameIdentity(key.principal, respondedBy)) return false;
  const { answerChallenge, verifyAssertion } = await loadPasskeys();
  const challenge = answerChallenge({
    ...{ proposalDigest: digestSeen(call, approval, vote), displayDigest: signature.displayDigest },
    ...{ decision: decisionOf(vote), instruction, nonce: signature.nonce },
  });
  return (await verifyAssertion(signature, challenge, { ...key, signCount: 0 })).status === 'verified';
}

/** Returns whether a signature was recorded before its passkey was removed. One that is not removed costs no read. */
async function isBeforeRemoval(
  { passkeys: { log } }: CommandPorts,
  { keys }: Passkeys,
  { request }: ToolCall,
  { signature }: Vote,
): Promise<boolean> {
  if (signature === null || keys.get(signature.credentialId)?.status !== 'removed') return true;
  const { credentialId, nonce } = signature;
  const removedAt = positionIn(await log.readStream(passkeysStream(request.tenant)), ({ type, data }) => {
    return type === 'PasskeyRemoved' && (data as PasskeyEventData<'PasskeyRemoved'>).credentialId === credentialId;
  });
  const signedAt = positionIn(await log.readStream(toolCallStream(request.callId)), ({ type, data }) => {
    return type === 'ApprovalResponded' && (data as EventData<'ApprovalResponded'>).signature?.nonce === nonce;
  });
  return signedAt < removedAt;
}

function positionIn(events: readonly LogEvent[], isIt: (event: RecordedEvent) => boolean): number {
  return events.filter(isReadable).find(isIt)?.position ?? Infinity;
}

/** The proposal that the person saw: an edit or an answer that made a proposal was a look at the one before it. */
function digestSeen({ request }: ToolCall, approval: Approval, vote: Vote): string {
  const voted = approval.proposals[vote.proposal - 1];
  const isAuthor = voted?.proposedBy === vote.respondedBy && voted.proposedAt === vote.respondedAt;
  const seen = isAuthor && vote.proposal > 1 ? vote.proposal - 1 : vote.proposal;
  const before = { ...approval, proposals: approval.proposals.slice(0, seen) };
  return proposalDigest(digestInputOf(before, request.salt));
}

function decisionOf({ decision }: Vote): Decision {
  switch (decision.type) {
    case 'edit':
      return { type: 'edit', arguments: decision.arguments };
    case 'answer':
      return { type: 'answer', output: decision.output };
    case 'approve':
    case 'deny':
      return decision;
  }
}
