import { EventType, type AGUIEvent, type Interrupt, type RunAgentInput, type RunFinishedEvent } from '@ag-ui/core';
import type { ApprovalView, Worker } from '@countersign/worker-sdk';

/** The connection to Countersign. */
export interface ApprovalsOptions {
  /** It requests the calls of the agent with the AG-UI thread as their run. */
  readonly worker: Pick<Worker, 'pending' | 'cancel'>;
  /** Where people open the inbox. Each interrupt has the address of its approval then. */
  readonly inboxUrl?: string | undefined;
}

/**
 * The events of one AG-UI run. While approvals of the thread are pending, the run ends with one interrupt for each of them.
 * A resume is no decision: it lets the agent look again, and the agent asks the ledger. An input that leaves a pending
 * approval without an answer does not reach the agent: the run ends with the interrupts again. An answer `cancelled`
 * cancels the call.
 *
 * @example
 * for await (const event of withApprovals({ worker }, input, () => runAgent(input))) {
 *   response.write(`data: ${JSON.stringify(event)}\n\n`);
 * }
 */
export async function* withApprovals(
  { worker, inboxUrl }: ApprovalsOptions,
  { threadId, runId, resume = [] }: Pick<RunAgentInput, 'threadId' | 'runId' | 'resume'>,
  run: () => AsyncIterable<AGUIEvent>,
): AsyncGenerator<AGUIEvent> {
  const answers = new Map(resume.map(({ interruptId, status }) => [interruptId, status]));
  const open = await worker.pending(threadId);
  const finished = (pending: readonly ApprovalView[]): RunFinishedEvent => ({
    type: EventType.RUN_FINISHED,
    threadId,
    runId,
    outcome: { type: 'interrupt', interrupts: pending.map((approval) => interruptOf(approval, inboxUrl)) },
  });
  if (open.some(({ approvalId }) => !answers.has(approvalId))) {
    yield { type: EventType.RUN_STARTED, threadId, runId };
    yield finished(open);
    return;
  }
  for (const { approvalId, callId } of open) {
    if (answers.get(approvalId) === 'cancelled') await worker.cancel(callId, 'The user left the question.');
  }
  for await (const event of run()) {
    const pending = event.type === EventType.RUN_FINISHED ? await worker.pending(threadId) : [];
    yield pending.length === 0 ? event : finished(pending);
  }
}

function interruptOf(approval: ApprovalView, inboxUrl: string | undefined): Interrupt {
  const { approvalId, toolCallId, toolName, description, expiresAt, actionDigest, allowedDecisions } = approval;
  const address = inboxUrl === undefined ? {} : { address: `${inboxUrl.replace(/\/+$/, '')}/approvals/${approvalId}` };
  return {
    id: approvalId,
    reason: 'tool_call',
    message: description ?? `Run ${toolName}?`,
    toolCallId,
    ...(expiresAt === null ? {} : { expiresAt }),
    metadata: { countersign: { approvalId, actionDigest, allowedDecisions, ...address } },
  };
}
