import type { ErrorCode } from '@countersign/contracts';

/** Why a request is refused with a code, and what its sender can do: the page `/problems/<code>`. */
export const problemWords: Readonly<Record<ErrorCode, readonly [cause: string, remedy: string]>> = {
  'invalid-request': [
    'The request has a member, a parameter or a header that is missing, unknown or of another form.',
    'Correct what `errors` names by its path. Nothing was recorded.',
  ],
  'reason-required': [
    'The rule of this approval demands a reason for this decision.',
    'Send the decision again with a `reason`.',
  ],
  unauthenticated: [
    'The request has no valid bearer token or session.',
    'Send `Authorization: Bearer <token>` with a token of this server, or sign in again.',
  ],
  forbidden: [
    'The caller has no role for this route, or the call belongs to another principal.',
    'Use a token with a role that the detail names, or let the owner of the call do it.',
  ],
  'own-request': [
    'The approver is the requester, the owner of the agent, or the person in whose name the agent acts.',
    'Let another approver decide.',
  ],
  'not-an-approver': [
    'The rule asks other people, or the channel of the response is not sure enough of the person.',
    'Let a person decide whom `requirement` names, or use a channel with more assurance.',
  ],
  'not-found': [
    'There is no such path, or no such record for this tenant.',
    'Check the id, the path and the tenant of the token.',
  ],
  'unknown-approval': [
    'There is no approval with this id in the tenant.',
    'List the approvals, and use an id of the list.',
  ],
  'method-not-allowed': ['The path exists, but not with this method.', 'Use a method that the header `Allow` names.'],
  'not-acceptable': [
    'The server cannot answer in a form that the header `Accept` names.',
    'Accept `application/json`.',
  ],
  expired: [
    'The deadline of the approval was over before the response arrived.',
    'The agent can ask again: `POST /v1/tool-calls/{callId}/approvals`.',
  ],
  'payload-too-large': [
    'The body, or the part of it that `errors` names, is larger than the limit.',
    'Send less: fewer calls, or smaller arguments.',
  ],
  'unsupported-media-type': [
    'The body was not sent as `application/json`.',
    'Send JSON with the header `Content-Type: application/json`.',
  ],
  'misdirected-request': [
    'The header `Host` names a host that this server does not serve.',
    'Use the public URL of the server, or configure it: COUNTERSIGN_PUBLIC_URL.',
  ],
  'invalid-arguments': [
    'The arguments do not fit the JSON Schema of the tool.',
    'Correct what `errors` names by its path.',
  ],
  'decision-not-allowed': [
    'The policy or the agent does not allow this decision on this approval.',
    'Use one of `allowedDecisions`.',
  ],
  'too-many-requests': [
    'The principal has reached its limit of requests, streams or waiting reads, or a quota of the policy.',
    'Wait for the seconds of `Retry-After`, then send the request again.',
  ],
  'internal-error': [
    'The server could not carry out the request. Its log has the cause.',
    'Send the request again with the same `Idempotency-Key`. If it fails again, tell the operator the `Request-Id`.',
  ],
  unavailable: [
    'The server, its event store or its views cannot answer now.',
    'Send the request again after the seconds of `Retry-After`; with the same `Idempotency-Key` it is safe.',
  ],
  'tool-call-mismatch': [
    'A call with this `toolCallId` is recorded in the run with other content, by another principal, or in another open batch.',
    'Give a new call a new `toolCallId`. Where the ids of a model repeat, put the step in front of them.',
  ],
  'not-requested': ['The tool call is not recorded.', 'Request it first: `POST /v1/tool-calls`.'],
  'already-resolved': [
    'Somebody else, or a deadline, has resolved the approval before.',
    'Read who and how: `resolution`, `respondedBy`, `respondedAt`, `via`.',
  ],
  'already-pending': ['People are already asked about the call.', 'Wait for their decision.'],
  'already-voted': [
    'This person has responded to the approval, perhaps under another name.',
    'Withdraw the response first: `DELETE /v1/approvals/{approvalId}/responses/mine`.',
  ],
  'digest-mismatch': [
    'The proposal, its instructions or its arguments changed after they were shown.',
    'Look at the current proposal, and decide about that one.',
  ],
  'blocked-by-policy': [
    'A rule of the policy forbids the call.',
    'Read the rule in `verdict`. Only a change of the policy lifts it.',
  ],
  'not-due': ['The deadline has not come.', 'Nothing is to be done.'],
  'already-claimed': [
    'A worker holds the claim of the call, or has held it.',
    'Wait for its outcome: `GET /v1/tool-calls/{callId}?until=settled`.',
  ],
  'already-settled': [
    'The call has a result, or the call inside which it would run was cancelled.',
    'Read the result of the call.',
  ],
  'not-approved': [
    'The call waits for people, or they did not approve it.',
    'Wait until it is `approved` or `allowed`.',
  ],
  'approval-lapsed': [
    'The call was approved, and was not executed in time.',
    'Ask again: `POST /v1/tool-calls/{callId}/approvals`, or request a new call.',
  ],
  'batch-incomplete': [
    'Another call of the same all-or-nothing batch is missing, not approved, or has ended.',
    'Wait for the others, or request a new batch.',
  ],
  'batch-begun': [
    'A call of the same all-or-nothing batch has begun, so the others may run and cannot be ended.',
    'Let the batch run.',
  ],
  stopped: [
    'A person stopped calls like this one: while the stop is in force none is requested, approved or claimed.',
    'Wait, or ask an admin to lift the stop: `countersign resume`. `GET /v1/stops` lists the stops; a denial and a cancellation are still recorded.',
  ],
  'stale-claim': [
    'The claim is not the latest one of the call, or its outcome is reported.',
    'Do not report again. Read the call.',
  ],
  'not-unknown': ['The outcome of the call is known.', 'Nothing is to be reconciled.'],
  'not-client-executed': ['A worker executes the call, not the client.', 'Claim the call and report its outcome.'],
  'grant-ended': ['The grant was revoked, has expired, or is used up.', 'Create a new grant.'],
  'no-approver-left': [
    'The names in the request exclude all approvers of a stage.',
    'Do not name them in `onBehalfOf` or by the parent, or change the groups of the policy.',
  ],
  'signature-required': [
    'The rule counts only answers that their person signed with a passkey, or the signature is not one of this answer.',
    'Open the approval in the inbox and sign it with your passkey.',
  ],
  'too-many': ['The history of the call or of the approval has reached a limit.', 'Request a new call.'],
  'calls-open': ['Calls of the subject are open.', 'Wait until they have ended, or send `force: true` to cancel them.'],
  'not-supported': [
    'This server has no keys, or another part that the request needs.',
    'Read the detail: it names the configuration.',
  ],
  unreadable: [
    'The log has an event of the call that this version cannot read. Nothing is decided or run on it.',
    'Upgrade Countersign to the version that wrote the event. `countersign log unreadable` lists such streams.',
  ],
  'idempotency-key-reused': [
    'The same principal has used the `Idempotency-Key` for another body on this path in the last 24 hours.',
    'Use a new key for a new request.',
  ],
  'future-position': [
    'The header `Countersign-Position` names a position that the log has not given out.',
    'Send back a position of an earlier answer of this server.',
  ],
};
