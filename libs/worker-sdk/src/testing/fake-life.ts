import {
  actionDigest,
  isSettled,
  jcsDigest,
  type JsonObject,
  type RequestApprovalBody,
  type ResponseView,
  type ToolCallEventType,
  type ToolCallState,
  type ToolCallView,
} from '@countersign/contracts';
import { askPeople, deniedBy, now, type FakeCall } from './fake-calls.js';
import type { FakeLog } from './fake-log.js';

/** The calls by their id, in the order of their requests. */
export interface FakeLedger {
  readonly calls: Map<string, FakeCall>;
  readonly log: FakeLog;
}

/** The comment or reason with a decision. */
export interface FakeRemarks {
  readonly reason?: string;
  readonly instruction?: string;
}

/** Gives a call its next state. */
export function moveTo(
  { log }: FakeLedger,
  call: FakeCall,
  type: ToolCallEventType,
  state: ToolCallState,
  more: Partial<ToolCallView> = {},
): void {
  const { view } = call;
  Object.assign(view, { state, settledAt: isSettled(state) ? now : null, ...more });
  if (view.approval !== null) view.approval = { ...view.approval, callState: state };
  log.record(call, type);
}

/** Asks people about a call, or asks again. */
export function ask({ log }: FakeLedger, call: FakeCall, question: RequestApprovalBody): void {
  askPeople(call, question);
  log.record(call, 'ApprovalRequested');
}

/** One person decides. */
export function respond(
  ledger: FakeLedger,
  call: FakeCall,
  decision: ResponseView['decision'],
  { reason = null, instruction = null }: { readonly [Name in keyof FakeRemarks]: FakeRemarks[Name] | null } = {},
): void {
  const isDenied = decision.type === 'deny';
  const response = {
    respondedBy: 'me',
    onBehalfOf: null,
    decision,
    reason,
    respondedAt: now,
    via: 'api',
    counted: true,
    number: 1,
  };
  const progress = isDenied
    ? { approvedBy: [], deniedBy: ['me'], missing: 1, missingOf: null }
    : { approvedBy: ['me'], deniedBy: [], missing: 0, missingOf: [] };
  const proposal = proposedBy(call, decision);
  const ifDenied = isDenied ? ({ ifDenied: true } as const) : {};
  const instructions = instruction === null ? [] : [{ respondedBy: 'me', instruction, ...ifDenied }];
  const resolution = isDenied ? 'denied' : 'approved';
  const shownRevision = (proposal.proposal?.number ?? 1) + instructions.length;
  resolve(call, resolution, { responses: [response], progress: [progress], instructions, shownRevision, ...proposal });
  if (decision.type === 'edit') edit(call, decision.arguments);
  // The edit that was proposed before.
  else if (decision.type === 'approve' && call.view.approval !== null) edit(call, call.view.approval.arguments);
  const type = 'ApprovalResponded';
  if (decision.type === 'answer') {
    moveTo(ledger, call, type, 'succeeded', { output: decision.output, instruction });
  } else if (isDenied) {
    const error = { code: 'denied', message: reason ?? 'User denied' };
    moveTo(ledger, call, type, 'denied', { error, instruction });
    endBatch(ledger, call);
  } else {
    moveTo(ledger, call, type, 'approved', { instruction });
  }
}

/** An edit and an answer are the next proposal. */
function proposedBy(
  { view: { approval } }: FakeCall,
  decision: ResponseView['decision'],
): Partial<NonNullable<ToolCallView['approval']>> {
  if (approval === null || decision.type === 'approve' || decision.type === 'deny') return {};
  const { number, digest } = approval.proposal;
  const subject: Pick<NonNullable<ToolCallView['approval']>['proposal'], 'kind' | 'output' | 'hiddenValues'> =
    decision.type === 'answer'
      ? { kind: 'answer', output: decision.output, hiddenValues: [] }
      : { kind: 'run', output: null };
  const by = { proposedBy: 'me', proposedAt: now, replaces: number };
  return { proposal: { ...subject, ...by, number: number + 1, digest: jcsDigest([digest, number]) } };
}

/** There was no response in time. */
export function expire(ledger: FakeLedger, call: FakeCall): void {
  resolve(call, 'expired');
  const error = { code: 'expired', message: 'No person answered in time' };
  moveTo(ledger, call, 'ApprovalExpired', 'expired', { error });
  endBatch(ledger, call);
}

/** Ends a new call that the code of the agent denies. */
export function block(ledger: FakeLedger, call: FakeCall, message: string): void {
  moveTo(ledger, call, 'ToolCallBlocked', 'blocked', {
    verdict: deniedBy(message),
    error: { code: 'blocked', message },
  });
}

/** Ends a call that has not begun to run. */
export function cancel(ledger: FakeLedger, call: FakeCall, message: string): void {
  if (call.view.approval?.state === 'pending') resolve(call, 'cancelled');
  moveTo(ledger, call, 'ToolCallCancelled', 'cancelled', { error: { code: 'cancelled', message } });
  endBatch(ledger, call);
}

/** The state of a call whose claim is over: it can be claimed once more. */
export function claimableState({ view }: FakeCall): ToolCallState {
  return view.approval === null ? 'allowed' : 'approved';
}

/** The calls that run with this one or not at all. */
export function siblingsOf({ calls }: FakeLedger, { batch, view }: FakeCall): readonly FakeCall[] {
  if (batch?.mode !== 'all-or-nothing') return [];
  return batch.callIds.filter((id) => id !== view.callId).flatMap((id) => calls.get(id) ?? []);
}

/** Ends the other calls of an all-or-nothing batch. */
export function endBatch(ledger: FakeLedger, call: FakeCall): void {
  const { callId, state } = call.view;
  const reason = `the call ${callId} of the same all-or-nothing batch was ${state}`;
  const open = siblingsOf(ledger, call).filter(({ view }) => !isSettled(view.state));
  for (const sibling of open) cancel(ledger, sibling, reason);
}

function resolve(
  { view }: FakeCall,
  resolution: 'approved' | 'denied' | 'expired' | 'cancelled',
  more: Partial<NonNullable<ToolCallView['approval']>> = {},
): void {
  const { approval } = view;
  if (approval?.state !== 'pending') throw new Error(`no approval of ${view.toolCallId} is pending`);
  view.approval = { ...approval, state: resolution, resolution, resolvedAt: now, upcoming: [], ...more };
}

/** One of two people edits: the approval asks about these arguments, and the call keeps its own until it is approved. */
export function proposeEdit(call: FakeCall, args: JsonObject): void {
  const { approval } = call.view;
  if (approval?.state !== 'pending') throw new Error(`no approval of ${call.view.toolCallId} is pending`);
  const { proposal = approval.proposal } = proposedBy(call, { type: 'edit', arguments: args });
  const shown = { shownDigest: proposal.digest, shownRevision: approval.shownRevision + 1 };
  const edited = { arguments: args, actionDigest: actionDigest(call.digestInput, args) };
  call.view.approval = { ...approval, ...edited, ...shown, proposal };
}

function edit({ view, digestInput }: FakeCall, args: JsonObject): void {
  if (jcsDigest(args) === jcsDigest(view.arguments)) return;
  const edited = { arguments: args, actionDigest: actionDigest(digestInput, args) };
  view.originalArguments = view.arguments;
  Object.assign(view, edited);
  if (view.approval !== null) view.approval = { ...view.approval, ...edited };
}
