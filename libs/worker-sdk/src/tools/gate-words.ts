import type { ApprovalView } from '@countersign/contracts';
import { nameWords } from '@countersign/text';

/** The address of an approval in the inbox. A slash at the end of `inboxUrl` makes no difference. */
export function approvalUrl(inboxUrl: string, approvalId: string): string {
  return `${inboxUrl.replace(/\/+$/, '')}/approvals/${encodeURIComponent(approvalId)}`;
}

/** Tells a model that a call waits for people, and how it gets the result. */
export function pendingText({ approvalId, toolName }: ApprovalView, inboxUrl: string): string {
  const url = approvalUrl(inboxUrl, approvalId);
  return `pending: approval ${approvalId} of ${nameWords(toolName)} waits for a person, and the tool did not run. Call it again with the same arguments to get the result. People decide at ${url}`;
}

/** A cause and its remedy, as two sentences. */
export function withRemedy(cause: string, remedy: string): string {
  return `${/[.?!]$/.test(cause) ? cause : `${cause}.`} ${remedy}`;
}

/** The codes of a call that no repetition helps. */
const callErrors = new Set(['invalid-request', 'tool-call-mismatch']);

/** The codes of tokens that do not fit: a call of another tenant is not found. */
const tokenErrors = new Set(['unauthenticated', 'forbidden', 'not-found']);

/** The codes of an answer that is not Countersign's: of one that is no JSON, of a redirect, and of an unknown address. */
const otherServer = /^(?:unreadable-response|http-(?!429)[34]\d\d)$/;

/** The remedy for a gate that Countersign refused, or that could not ask it. `code` is that of a `CountersignError`. */
export function gateRemedy(code: string): string {
  if (code === 'unreachable') return 'Start Countersign, or set COUNTERSIGN_URL to where it runs, and call again.';
  if (otherServer.test(code)) return 'Set COUNTERSIGN_URL to where Countersign runs, and call again.';
  if (tokenErrors.has(code))
    return 'The gate needs the token of an agent in COUNTERSIGN_TOKEN, and of a resolver in COUNTERSIGN_RESOLVER_TOKEN, both of one tenant. The agent (agentId, or --agent) must be the principal of the first token, or in its agentIds.';
  if (callErrors.has(code)) return 'Correct the call, and make it again.';
  if (code === 'payload-too-large') return 'Make the call smaller. If its run is too large, use another run.';
  return 'Ask the operator of Countersign.';
}
