import type { ApprovalView } from '@countersign/contracts';
import { nameWords } from '@countersign/text';
import { approvalUrl } from '@countersign/worker-sdk';
import type { RequestRound } from '../stateless/request-round.js';
import { objectOf, type Reply } from '../wire.js';
import { pendingReply } from './replies.js';

/** How a stateless client has waited so far. */
export interface WaitingRound extends RequestRound {
  readonly inboxUrl: string;
  readonly holdMs: number;
  /** The rounds that it has waited. */
  readonly round: number;
  readonly nextState: string;
}

/** The key of the gate's question. Those of a server begin with `server-`. */
export const questionKey = 'countersign-approval';
/** The MCP SDK gives up after 10 rounds. */
const roundsMax = 8;
/** Without a hold the client would ask again and again. */
const holdMsMin = 1_000;

/**
 * The reply to a stateless client while people decide. A client that opens addresses is sent to the card once; opening it
 * approves nothing. Then it makes its request again, round after round. A client that cannot, or does not want to, gets the
 * result `pending`.
 */
export function roundReply(approval: ApprovalView, waited: WaitingRound): Reply {
  const { inboxUrl, holdMs, round, nextState, opensUrls, answers } = waited;
  const { action } = objectOf(answers[questionKey]);
  const isDeclined = action === 'decline' || action === 'cancel';
  const mayWait = round === 0 || (round < roundsMax && holdMs >= holdMsMin);
  if (!opensUrls || isDeclined || !mayWait) return pendingReply(approval, inboxUrl, false);
  const again = { resultType: 'input_required', requestState: nextState };
  return {
    result: round === 0 ? { ...again, inputRequests: { [questionKey]: questionOf(approval, inboxUrl) } } : again,
  };
}

function questionOf({ approvalId, toolName }: ApprovalView, inboxUrl: string): object {
  const message = `A person must decide about ${nameWords(toolName)} (approval ${approvalId}). It runs after they have approved it.`;
  return { method: 'elicitation/create', params: { mode: 'url', message, url: approvalUrl(inboxUrl, approvalId) } };
}
