import { jcsDigest, type ClaimView, type JsonValue, type OutcomeBody } from '@countersign/contracts';
import { messageOf, nameOf } from '../errors.js';
import type { ExecutionPorts, ExecutionRequest } from './execution-ports.js';
import { withLease } from './lease.js';
import { runThrough } from './middleware.js';
import { denialOfClaimed } from './must-ask.js';
import { asJson, issuesText } from '../tools/schema.js';
import { inToolSpan } from '../ledger/trace.js';
import { TimeLimitError, ToolAbortedError, type TimeLimit } from './time-limit.js';
import type { ExecutionContext, GateTool } from '../tools/tool-definition.js';
import { changedArguments, problemOfClaim } from './verify-claim.js';

/**
 * `unknown`: the tool ran over its time limit or was aborted, and may have taken effect. `late` resolves when it succeeds after all, and
 * rejects when it does not.
 */
export type ClaimedEnd =
  | { readonly status: 'known'; readonly outcome: OutcomeBody }
  | { readonly status: 'unknown'; readonly late: Promise<OutcomeBody> };

/** Verifies a claim and runs its tool, within the time limit. Rejects when the worker is closed meanwhile. */
export async function runClaimed(
  ports: ExecutionPorts,
  request: ExecutionRequest,
  claim: ClaimView,
): Promise<ClaimedEnd> {
  const { call, tool } = request;
  const { attempt } = claim;
  const { callId } = call;
  if (tool === undefined) {
    ports.log.error({ callId, toolName: call.toolName, code: 'unknown-tool' }, 'refused to execute');
    const message = `There is no tool ${call.toolName} in this worker any more`;
    return known(failed(attempt, { code: 'unknown-tool', message }));
  }
  const limitMs = tool.toolTimeoutMs ?? ports.toolTimeoutMs;
  const progress: Progress = { hasStarted: false };
  let work: Promise<OutcomeBody> | undefined;
  let receipt = receiptIn(claim);
  const onRenewed = (renewed: unknown): void => {
    receipt = receiptIn(renewed);
  };
  try {
    const outcome = await withLease(ports, { callId, attempt, limitMs, onRenewed }, (signal, limit) => {
      work = outcomeOf(ports, { ...request, tool }, claim, { signal, limit, progress, receipt: () => receipt });
      return work;
    });
    return known(outcome);
  } catch (error) {
    if (error instanceof ToolAbortedError && work !== undefined) {
      ports.log.error({ callId, attempt, error: error.message }, 'the tool was aborted');
      return { status: 'unknown', late: work };
    }
    if (!(error instanceof TimeLimitError) || work === undefined) throw error;
    ports.log.error({ callId, attempt, limitMs }, 'the tool ran over its time limit');
    if (progress.hasStarted && !tool.idempotent) return { status: 'unknown', late: work };
    return known(failed(attempt, { code: 'tool-timeout', message: error.message }));
  }
}

/** An older server returns none. */
function receiptIn(answer: unknown): string | null {
  const receipt = typeof answer === 'object' && answer !== null && 'receipt' in answer ? answer.receipt : null;
  return typeof receipt === 'string' ? receipt : null;
}

function known(outcome: OutcomeBody): ClaimedEnd {
  return { status: 'known', outcome };
}

function failed(attempt: number, error: JsonValue): OutcomeBody {
  return { attempt, status: 'failed', error };
}

interface Progress {
  hasStarted: boolean;
}

/** The state of an execution besides its claim. */
interface Running {
  readonly signal: AbortSignal;
  readonly limit: TimeLimit;
  readonly progress: Progress;
  readonly receipt: ExecutionContext['receipt'];
}

type ToolRequest = ExecutionRequest & { readonly tool: GateTool };

async function outcomeOf(
  ports: ExecutionPorts,
  request: ToolRequest,
  claim: ClaimView,
  running: Running,
): Promise<OutcomeBody> {
  const { tool, argumentsHash } = request;
  const { attempt } = claim;
  const problem = problemOfClaim(claim, request.call, tool, argumentsHash);
  if (problem !== undefined) {
    ports.log.error({ callId: request.call.callId, code: problem.code }, 'refused to execute');
    return failed(attempt, { ...problem });
  }
  // Once more, because an approver may have put other arguments in their place.
  const checked = await tool.check(claim.arguments, true);
  if (!checked.valid) {
    const issues = checked.issues.map((issue) => ({ ...issue }));
    const message = `The arguments do not match the schema of the tool: ${issuesText(issues)}`;
    return failed(attempt, { code: 'invalid-arguments', message, issues });
  }
  if (jcsDigest(checked.arguments) !== jcsDigest(claim.arguments)) {
    // For example a path that has become a link since, or a default in place of what an edit left out.
    return failed(attempt, { ...changedArguments });
  }
  const denied = await denialOfClaimed(request, checked);
  if (denied !== undefined) return failed(attempt, { code: 'denied-in-code', message: `It did not run: ${denied}` });
  const { execute } = checked;
  if (execute === undefined) {
    return failed(attempt, { code: 'unknown-tool', message: `${tool.name} cannot be run here` });
  }
  const { limit, progress } = running;
  // A validation may have taken all the time: the outcome is reported, so nothing may start.
  limit.signal.throwIfAborted();
  const ended = new AbortController();
  const context = contextOf(ports, request, claim, { ...running, ended: ended.signal });
  const { aborted } = context.signal;
  if (aborted) {
    const message = `The tool did not start: ${messageOf(context.signal.reason)}`;
    return failed(attempt, { code: 'not-started', message });
  }
  progress.hasStarted = true;
  try {
    const call = { ...context, toolName: tool.name, arguments: claim.arguments };
    const run = () => runThrough(ports.middleware, call, () => execute(context));
    const output = await inToolSpan(request.call, claim, run);
    return { attempt, status: 'succeeded', output: recordableOutput(output) };
  } catch (error) {
    limit.signal.throwIfAborted();
    if (context.signal.aborted && !tool.idempotent) throw new ToolAbortedError(messageOf(error), { cause: error });
    return failed(attempt, { code: 'tool-error', name: nameOf(error), message: messageOf(error) });
  } finally {
    ended.abort();
  }
}

function contextOf(
  ports: ExecutionPorts,
  { call, tool, given }: ToolRequest,
  claim: ClaimView,
  { signal, limit, ended, receipt }: Running & { readonly ended: AbortSignal },
): ExecutionContext {
  const { callId, runId, agentId, toolCallId, approval } = call;
  const { attempt, idempotencyKey } = claim;
  const isApproved = approval?.state === 'approved';
  const around = tool.signalOf?.(given?.context);
  const joined = around === undefined ? signal : AbortSignal.any([signal, around]);
  // An idempotent tool may run again, and then gets the answer.
  const isOver = tool.idempotent ? ended : AbortSignal.any([ended, joined]);
  return {
    callId,
    runId,
    agentId,
    toolCallId,
    attempt,
    idempotencyKey,
    receipt,
    signal: joined,
    approval: isApproved ? structuredClone(approval) : null,
    messages: given?.messages ?? [],
    context: given?.context,
    ask: (question) => {
      const asking = ports.ask(call, question, joined, isOver).finally(limit.pause());
      // A tool need not wait for it.
      asking.catch(() => undefined);
      return asking;
    },
  };
}

/** The tool did run, so an output that is no JSON must not turn its success into a failure: the model would try again. */
function recordableOutput(output: unknown): JsonValue {
  if (output === undefined) return null;
  const json = asJson(output);
  return json === undefined ? { unrecorded: 'The tool succeeded; its output cannot be written as JSON.' } : json;
}
