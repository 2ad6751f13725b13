import type { EventData } from '@countersign/contracts';
import { maskAt, maskByName, maskEdited } from '@countersign/contracts';
import type { ApprovalState, CallState } from './call-state.js';
import { digestOf } from './digests.js';
import { isSealedAt } from './judged-event.js';
import type { JudgedEvent } from './judged-event.js';

type Requested = EventData<'ToolCallRequested'>;
type Response = EventData<'ApprovalResponded'>;

/** The digest of a text that people read; null: there is none. */
export function textDigest(text: string | null): string | null {
  return text === null ? null : digestOf(text);
}

/** The digests of what a card shows of a request; null where values are sealed, whose masks cannot be computed. */
export function shownOfRequest(event: JudgedEvent, data: Requested): CallState['request']['shown'] {
  const { callId, runId, agentId, toolCallId, toolName, owner = null, onBehalfOf = null, labels } = data;
  const { title = null, toolDescription = null, metadata = null } = data;
  const isHidden = isSealedAt(event, '/arguments') || isSealedAt(event, '/salt');
  const call = { callId, runId, agentId, toolCallId, toolName, owner, onBehalfOf, labels, title, toolDescription };
  return {
    call: isSealedAt(event, '/metadata') ? null : digestOf({ ...call, metadata: maskByName(metadata) }),
    asked: isHidden ? null : digestOf(maskAt(data.arguments, data.sensitive, data.salt)),
  };
}

/** The digest of what a card shows of the proposal that a response makes; null where values are sealed. */
export function shownOfResponse(event: JudgedEvent, { decision }: Response): string | null {
  if (decision.type === 'answer') {
    return isSealedAt(event, '/decision/output') ? null : digestOf(maskByName(decision.output));
  }
  if (decision.type !== 'edit') return null;
  const isHidden = isSealedAt(event, '/decision/arguments') || isSealedAt(event, '/decision/salt');
  return isHidden ? null : digestOf(maskEdited(decision.arguments, decision.sensitive, decision.salt));
}

/** The digest of the card of an approval as it stands; null where values of it are sealed. */
export function cardDigest(approval: ApprovalState, { request }: CallState, proposalDigest: string): string | null {
  const { approvalId, requestedBy, words, proposal, votes, number } = approval;
  const { call } = request.shown;
  const { asked } = proposal;
  if (call === null || asked === null) return null;
  const instructions = votes.flatMap(({ by, instruction, agrees, proposal: of }) => {
    if (instruction === null || (agrees && of !== number)) return [];
    return [{ respondedBy: by, instruction, ...(!agrees && { ifDenied: true }) }];
  });
  return digestOf({ approvalId, proposalDigest, requestedBy, call, asked, ...words, instructions });
}
