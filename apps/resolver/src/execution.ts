import { actionDigest, deriveCallId } from '@countersign/contracts';
import type { ClaimView } from '@countersign/contracts';
import { crashPoint } from '@countersign/runtime';
import { inSpan, toolSpan } from '@countersign/shell';
import type { Tracing } from '@countersign/shell';
import type { Clock, Log } from '@countersign/runtime';
import type { ExecutionAnswer, Executions, ReportedOutcome } from './executions.js';
import type { Lease } from './lease.js';
import { retryUntilAnswered } from './retry.js';
import { runTool } from './run-tool.js';
import type { FinalOutcome } from './run-tool.js';
import { omitted } from './tools/answer-body.js';
import { messageOf } from './tools/message-of.js';
import type { Tool, ToolRun } from './tools/tool.js';

/** A claimed call, about to be executed. */
export interface ClaimedCall {
  readonly tenant: string;
  readonly callId: string;
  readonly tool: Tool;
  readonly idempotent: boolean;
  readonly claim: ClaimView;
  readonly lease: Lease;
  /** Aborts when the claim is lost or the resolver stops waiting. */
  readonly signal: AbortSignal;
}

export interface ExecutionPorts {
  readonly executions: Executions;
  readonly clock: Clock;
  readonly log: Log;
  /** Aborts when the resolver ends: what is not recorded then is left to the lease. */
  readonly ending: AbortSignal;
  readonly tracing?: Pick<Tracing, 'inSpan'> | undefined;
}

/** Executes a claimed call and records its result; never rejects. */
export function execute(call: ClaimedCall, ports: ExecutionPorts): Promise<void> {
  const { tenant, callId, claim } = call;
  const { digestInput, traceparent: trace } = claim;
  return inSpan(
    ports.tracing,
    // A call of a batch may be claimed while an event of another one is handled.
    () => ({ ...toolSpan(digestInput, { tenant, callId, runId: digestInput.runId }), trace }),
    (span) => executeNow(call, ports, span.fail),
  );
}

async function executeNow(call: ClaimedCall, ports: ExecutionPorts, fail: (code: string) => void): Promise<void> {
  const log = ports.log.child({ callId: call.callId, toolName: call.tool.name, attempt: call.claim.attempt });
  try {
    const outcome = await outcomeOf(call, ports.clock);
    crashPoint('resolver.after-execute');
    if (outcome.status !== 'succeeded') fail(errorTypeOf(outcome));
    if (outcome.status === 'unknown') await abandon(call, outcome.reason, { ...ports, log });
    else await report(call, outcome, { ...ports, log });
  } catch (error) {
    log.error({ error }, 'the outcome could not be recorded: the end of the lease decides');
  } finally {
    call.lease.end();
  }
}

/** A code of ours; nothing that the tool said. */
function errorTypeOf(outcome: Exclude<FinalOutcome, { status: 'succeeded' }>): string {
  if (outcome.status === 'unknown') return 'unknown';
  const { error } = outcome;
  const code = typeof error === 'object' && error !== null && 'code' in error ? error['code'] : undefined;
  return typeof code === 'string' && ourCodes.has(code) ? code : 'tool-error';
}

const ourCodes: ReadonlySet<string> = new Set(['invalid-arguments', 'digest-mismatch', 'tool-timeout']);

async function outcomeOf(call: ClaimedCall, clock: Clock): Promise<FinalOutcome> {
  const { claim, tool, callId } = call;
  const invalid = await problemsOf(call);
  if (invalid.length > 0) return refuse('invalid-arguments', `the arguments are not valid: ${invalid.join('; ')}`);
  // Last: nothing may happen between this check of the arguments and their use.
  const mismatch = mismatchOf(call);
  if (mismatch !== undefined) return refuse('digest-mismatch', mismatch);
  const run: ToolRun = {
    callId,
    runId: claim.digestInput.runId,
    toolName: tool.name,
    arguments: claim.arguments,
    actionDigest: claim.actionDigest,
    attempt: claim.attempt,
    idempotencyKey: claim.idempotencyKey,
    receipt: () => call.lease.receipt(),
    signal: call.signal,
  };
  const mayTry = (): boolean => call.lease.holds() && !call.signal.aborted;
  return runTool({ tool, run, idempotent: call.idempotent, mayTry, clock });
}

async function problemsOf({ tool, claim }: ClaimedCall): Promise<readonly string[]> {
  try {
    return await tool.validate(claim.arguments);
  } catch (error) {
    return [`the schema failed: ${messageOf(error)}`];
  }
}

/** Attack: arguments, or the call they belong to, exchanged between the approval and the execution. */
function mismatchOf({ tenant, callId, tool, claim }: ClaimedCall): string | undefined {
  const { digestInput, arguments: args } = claim;
  const { runId, toolCallId } = digestInput;
  if (digestInput.tenant !== tenant || deriveCallId(tenant, runId, toolCallId) !== callId) {
    return 'the claim is of another call';
  }
  if (digestInput.toolName !== tool.name) return `the claim is for the tool "${digestInput.toolName}"`;
  if (actionDigest(digestInput, args) !== claim.actionDigest) return 'the arguments are not those that were approved';
  return undefined;
}

function refuse(code: string, message: string): ReportedOutcome {
  return { status: 'failed', error: { code, message } };
}

async function report(call: ClaimedCall, outcome: ReportedOutcome, ports: ExecutionPorts): Promise<void> {
  const { log } = ports;
  let answer = await send(call, outcome, ports);
  if (answer.status === 'refused' && answer.refusal.code === 'payload-too-large') {
    log.error({ status: outcome.status }, 'the outcome is too large to be recorded');
    answer = await send(call, standIn(outcome, answer.refusal.detail), ports);
  }
  if (answer.status === 'recorded') log.info({ status: outcome.status }, 'executed');
  else log.error({ status: outcome.status, code: answer.refusal.code }, 'executed, but the report was refused');
}

/** Without one, an idempotent tool would run again after each lease. */
function standIn({ status }: ReportedOutcome, why: string): ReportedOutcome {
  if (status === 'failed') return refuse('tool-error', `the error of the tool cannot be recorded: ${why}`);
  return { status, output: omitted(`the output cannot be recorded: ${why}`) };
}

function send(
  { tenant, callId, claim }: ClaimedCall,
  outcome: ReportedOutcome,
  { executions, ending, ...ports }: ExecutionPorts,
): Promise<ExecutionAnswer> {
  const reported = { attempt: claim.attempt, ...outcome };
  return retryUntilAnswered(() => executions.report(tenant, callId, reported), { ...ports, signal: ending });
}

/** If `abandon` fails or is not called, the end of the lease has the same effect later. */
async function abandon(call: ClaimedCall, reason: string, { executions, log }: ExecutionPorts): Promise<void> {
  log.error({ reason }, 'it is unknown whether the tool ran');
  call.lease.end();
  await executions.abandon?.(call.tenant, call.callId, { attempt: call.claim.attempt, reason });
}
