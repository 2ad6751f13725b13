import { maskAt, maskByName, maskEdited, proposalDigest } from '@countersign/contracts';
import type { ShownCard } from '@countersign/contracts';
import { currentProposal, digestInputOf, instructionsOf } from '@countersign/domain';
import type { Approval, ToolCall } from '@countersign/domain';

/** What a card shows of an approval now, to a person who sees hidden values as masks. */
export function shownCardOf({ request }: Pick<ToolCall, 'request'>, approval: Approval): ShownCard {
  const { callId, runId, agentId, toolCallId, toolName, owner = null, onBehalfOf = null, labels } = request;
  const { title = null, toolDescription = null, metadata = null } = request;
  const { approvalId, requestedBy, reason, description } = approval;
  return {
    ...{ approvalId, requestedBy, reason, description },
    proposalDigest: proposalDigest(digestInputOf(approval, request.salt)),
    call: {
      ...{ callId, runId, agentId, toolCallId, toolName, owner, onBehalfOf, labels },
      ...{ title, toolDescription, metadata: maskByName(metadata) },
    },
    asked: askedIn(request.actionDigest, approval),
    instructions: instructionsOf(approval),
  };
}

function askedIn(requested: string, approval: Approval): ShownCard['asked'] {
  const { kind, output, action } = currentProposal(approval);
  if (kind === 'answer') return maskByName(output);
  const mask = action.actionDigest === requested ? maskAt : maskEdited;
  return mask(action.arguments, action.sensitive, action.salt);
}
