import type { ApprovalView } from '@countersign/contracts';
import type { RequestRound } from '../stateless/request-round.js';
import type { Reply } from '../wire.js';

/** A `tools/call` of the client. */
export interface ClientCall {
  readonly params: Readonly<Record<string, unknown>>;
  /** Aborts when the client has cancelled the request. */
  readonly signal: AbortSignal;
  /** Resolves to whether the client got the reply; to false as soon as it is known to have left. */
  readonly delivered: Promise<boolean>;
  /** The client opens addresses for its user (URL elicitation). */
  readonly opensUrls: boolean;
  /** How a stateless client waits. */
  readonly round: RequestRound | undefined;
  /** Called from time to time while people decide. */
  readonly onWaiting: (approvalId: string) => void;
  /** Called when the client is sent to the card of an approval. */
  readonly onCard: (approval: ApprovalView) => void;
  /** For the policy and the approvers. */
  readonly labels: Readonly<Record<string, string>>;
}

/** Puts calls behind approval. Never rejects: every failure is a reply. */
export type AnswerCall = (call: ClientCall) => Promise<Reply>;
