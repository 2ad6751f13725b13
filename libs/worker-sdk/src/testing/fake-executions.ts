import { isSettled, limits, type ClientOutputBody, type OutcomeBody } from '@countersign/contracts';
import { isSameJson } from '../tools/schema.js';
import { timeAfter, type FakeCall } from './fake-calls.js';
import { moveTo, siblingsOf, type FakeLedger } from './fake-life.js';
import { refuse } from './fake-problem.js';

export function claim(
  ledger: FakeLedger,
  call: FakeCall,
  {
    resolverId,
    leaseMs = limits.leaseMsDefault,
  }: { readonly resolverId: string; readonly leaseMs?: number | undefined },
): Response {
  const refused = notClaimable(ledger, call);
  if (refused !== undefined) return refused;
  const { view, digestInput } = call;
  call.claim = { attempt: (call.claim?.attempt ?? 0) + 1, resolverId, leaseUntil: timeAfter(leaseMs) };
  call.report = null;
  moveTo(ledger, call, 'ExecutionClaimed', 'executing');
  const { arguments: args, actionDigest, callId: idempotencyKey } = view;
  const { attempt, leaseUntil } = call.claim;
  const receipt = receiptOf(call);
  return Response.json({ attempt, arguments: args, actionDigest, digestInput, idempotencyKey, leaseUntil, receipt });
}

function notClaimable(ledger: FakeLedger, { view, claim: held, request, ...call }: FakeCall): Response | undefined {
  const { state } = view;
  if (state === 'executing') return refuse('already-claimed', held ?? {});
  if (isSettled(state) && (held !== null || state === 'succeeded')) return refuse('already-settled', { state });
  if (state !== 'allowed' && state !== 'approved') return refuse('not-approved', { state });
  if (request.clientExecuted === true) return refuse('not-approved');
  const siblings = siblingsOf(ledger, { view, claim: held, request, ...call });
  const callIds = siblings.filter((one) => one.view.state === 'awaiting_approval').map((one) => one.view.callId);
  return callIds.length > 0 ? refuse('batch-incomplete', { callIds }) : undefined;
}

export function renewClaim(
  { log }: FakeLedger,
  call: FakeCall,
  { attempt, leaseMs = limits.leaseMsDefault }: { readonly attempt: number; readonly leaseMs?: number | undefined },
): Response {
  if (call.claim?.attempt !== attempt || call.view.state !== 'executing') return stale(call);
  call.claim = { ...call.claim, leaseUntil: timeAfter(leaseMs) };
  log.record(call, 'ExecutionClaimRenewed');
  return Response.json({ attempt, leaseUntil: call.claim.leaseUntil, receipt: receiptOf(call) });
}

/** Stands in for a receipt: nothing is signed here. */
function receiptOf({ view: { callId }, claim: held }: FakeCall): string {
  return `receipt-of-${callId}.${String(held?.attempt)}-${String(held?.leaseUntil)}`;
}

/** The latest attempt may report once, also after its lease. The same report again changes nothing. */
export function reportOutcome(ledger: FakeLedger, call: FakeCall, report: OutcomeBody): Response {
  if (call.claim?.attempt !== report.attempt) return stale(call);
  if (call.report !== null) return isSameJson(call.report, report) ? Response.json(call.view) : stale(call);
  call.report = report;
  return settle(ledger, call, report);
}

function stale({ claim: held }: FakeCall): Response {
  return refuse('stale-claim', { attempt: held?.attempt ?? 0 });
}

export function submitOutput(ledger: FakeLedger, call: FakeCall, result: ClientOutputBody): Response {
  const { state } = call.view;
  if (call.request.clientExecuted !== true) return refuse('not-client-executed');
  if (state === 'succeeded' || state === 'failed') return refuse('already-settled', { state });
  if (state !== 'allowed' && state !== 'approved') return refuse('not-approved', { state });
  return settle(ledger, call, result);
}

function settle(ledger: FakeLedger, call: FakeCall, result: ClientOutputBody): Response {
  if (result.status === 'succeeded') {
    moveTo(ledger, call, 'ExecutionSucceeded', 'succeeded', { output: result.output, error: null });
  } else {
    moveTo(ledger, call, 'ExecutionFailed', 'failed', { error: result.error });
  }
  return Response.json(call.view);
}
