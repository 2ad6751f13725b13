import type { ApprovalView } from '@countersign/contracts';

/** The address of an approval in the inbox. A slash at the end of `inboxUrl` makes no difference. */
export function approvalUrl(inboxUrl: string, approvalId: string): string {
  return `${inboxUrl.replace(/\/+$/, '')}/approvals/${encodeURIComponent(approvalId)}`;
}

/** Tells a model that a call waits for people, and how it gets the result. */
export function pendingText({ approvalId, toolName }: ApprovalView, inboxUrl: string): string {
  const url = approvalUrl(inboxUrl, approvalId);
  return `pending: approval ${approvalId} of ${toolName} waits for a person, and the tool did not run. Call it again with the same arguments to get the result. People decide at ${url}`;
}

/** A cause and its remedy, as two sentences. */
export function withRemedy(cause: string, remedy: string): string {
  return `${/[.?!]$/.test(cause) ? cause : `${cause}.`} ${remedy}`;
}

/** The codes of a call that no repetition helps. */
const callErrors = new Set(['invalid-request', 'tool-call-mismatch', 'payload-too-large']);

/** The remedy for a gate that Countersign refused, or that could not ask it. `code` is that of a `CountersignError`. */
export function gateRemedy(code: string): string {
  if (code === 'unreachable') return 'Start Countersign, or set COUNTERSIGN_URL to where it runs, and call again.';
  if (code === 'unauthenticated' || code === 'forbidden')
    return 'The gate needs the token of an agent in COUNTERSIGN_TOKEN, and of a resolver in COUNTERSIGN_RESOLVER_TOKEN.';
  if (callErrors.has(code)) return 'Correct the call, and make it again.';
  return 'Ask the operator of Countersign.';
}
